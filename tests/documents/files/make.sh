#!/usr/bin/env bash
# Makes the small documents of the tests from `sources`, once; what it makes is committed.
# Needs: apt-get install --no-install-recommends libreoffice-writer libreoffice-calc libreoffice-impress python3-uno texlive-latex-base qpdf, and PyPI
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
cp "$work"/*.{docx,doc,odt,epub,pdf,xlsx,xls,ods,pptx,odp} .
ls -l
