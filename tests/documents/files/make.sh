#!/usr/bin/env bash
# Makes the small documents of the tests from `sources`, once; what it makes is committed.
# Needs: apt-get install --no-install-recommends libreoffice-writer libreoffice-calc libreoffice-impress python3-uno texlive-latex-base qpdf ffmpeg espeak-ng, and PyPI
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
office() { soffice "-env:UserInstallation=file://$work/profile" --headless "$@" >/dev/null 2>&1; }
for kind in docx doc odt epub pdf; do office --convert-to "$kind" --outdir "$work" sources/report.fodt; done
for kind in xlsx xls ods; do office --convert-to "$kind" --outdir "$work" sources/counts.fods; done
for kind in pptx odp; do office --convert-to "$kind" --outdir "$work" sources/talk.fodp; done
echo somewhere > "$work/hostname.tex"
sed 's|/etc/hostname|hostname|' sources/paper.tex > "$work/paper.tex"
(cd "$work" && SOURCE_DATE_EPOCH=0 pdflatex -interaction=batchmode paper.tex >/dev/null)
qpdf --encrypt secret owner 256 -- "$work/report.pdf" "$work/encrypted.pdf"
qpdf --encrypt "" owner 256 -- "$work/report.pdf" "$work/locked.pdf"
office "--accept=socket,host=127.0.0.1,port=2002;urp;" --norestore & listening=$!
/usr/bin/python3 sources/encrypt.py \
  "$work/report.odt" "$work/encrypted.odt" writer8 \
  "$work/counts.xls" "$work/encrypted.xls" "MS Excel 97" \
  "$work/counts.ods" "$work/encrypted.ods" calc8 \
  "$work/talk.odp" "$work/encrypted.odp" impress8
wait "$listening" || true
python3 -m venv "$work/venv" && "$work/venv/bin/pip" install -q msoffcrypto-tool
for file in report.docx counts.xlsx talk.pptx; do
  "$work/venv/bin/msoffcrypto-tool" -e -p secret "$work/$file" "$work/encrypted.${file##*.}"
done
said="The heron stood in the water. It waited for a fish. The meeting is on Thursday at nine."
espeak-ng -v en-gb -w "$work/said.wav" "$said"
media() { ffmpeg -v error -y "$@"; }
media -i "$work/said.wav" -ac 1 -ar 16000 -b:a 24k "$work/heron.mp3"
media -i "$work/said.wav" -ac 1 -ar 8000 "$work/heron.wav"
media -i "$work/said.wav" -c:a libopus -b:a 16k "$work/heron.ogg"
media -f lavfi -i "testsrc=size=320x240:rate=10:duration=8" -i "$work/said.wav" -c:v libx264 -g 20 -preset veryslow -crf 40 -pix_fmt yuv420p -c:a aac -b:a 24k "$work/heron.mp4"
media -i "$work/heron.mp4" -c:v libvpx -b:v 60k "$work/heron.webm"
cp "$work"/heron.* .
cp "$work"/*.{docx,doc,odt,epub,pdf,xlsx,xls,ods,pptx,odp} .
ls -l
