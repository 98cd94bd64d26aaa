# The first process of a container. It carries out orders, "NUMBER VERB TOKEN [CALL]" a line, answers each with "NUMBER
# WORDS", and ends, and the container with it, when nobody is left to give any. TOKEN names a shell by AGENTRT_SHELL.
#   note    remember what runs: it belongs to no command that comes later
#   count   how many processes are below the shell
#   end     end what the shell started since `note` or for CALL, by TERM and then KILL; answers with what was needed
#   clear   kill the shell and all that it started
# Only bash's own commands are used: an image may have no others.

trap '' TERM INT HUP
exec {clock}<> <(:)
shopt -s nullglob
declare -A parent session token call earlier found

pause() { read -r -t 0.01 -u "$clock"; }

look() { # every process that has not ended: proc(5), stat and environ
  parent=() session=() token=() call=()
  local file line pid entry entries
  for file in /proc/[0-9]*/stat; do
    line=
    { IFS= read -r -d '' line; } 2>/dev/null <"$file"
    pid=${file//[!0-9]/}
    set -- ${line##*) }
    [[ $# -lt 4 || $1 == [ZX] || $pid == "$$" ]] && continue
    parent[$pid]=$2 session[$pid]=$4
    entries=()
    { mapfile -d '' -t entries; } 2>/dev/null <"/proc/$pid/environ"
    for entry in "${entries[@]}"; do
      case $entry in
        AGENTRT_SHELL=*) token[$pid]=${entry#*=} ;;
        AGENTRT_CALL=*) call[$pid]=${entry#*=} ;;
      esac
    done
  done
}

shell_of() { # the process that was started from outside with this token
  local pid
  shell=
  for pid in "${!parent[@]}"; do
    [[ ${parent[$pid]} == 0 && ${token[$pid]-} == "$1" ]] && shell=$pid
  done
}

below() { # what is below the processes in `found`, as far as a test lets them in
  local pid more=1
  while ((more)); do
    more=0
    for pid in "${!parent[@]}"; do
      [[ -z ${found[$pid]-} && -n ${found[${parent[$pid]}]-} ]] && "$1" "$pid" "$2" && found[$pid]=1 more=1
    done
  done
}

belongs() { # whether a process may be of the call
  [[ $1 != "$shell" ]] && { [[ ${call[$1]-} == "$2" ]] || [[ -z ${earlier[$1]-} && -z ${call[$1]-} ]]; }
}

started() { # what the shell started for the call, in `found`
  local pid above
  look
  shell_of "$1"
  found=()
  for pid in "${!parent[@]}"; do
    above=${parent[$pid]}
    if [[ ${call[$pid]-} == "$2" || ( -n $shell && ( $above == "$shell" ||
      ( ${session[$pid]} == "$shell" && ${session[$above]-} != "$shell" ) ) ) ]] && belongs "$pid" "$2"; then
      found[$pid]=1
    fi
  done
  below belongs "$2"
}

end() {
  local signal number sent=
  for signal in TERM KILL KILL; do
    started "$1" "$2"
    ((${#found[@]})) || break
    [[ $sent == *$signal* ]] || sent+=" SIG$signal"
    kill -s "$signal" "${!found[@]}" 2>/dev/null
    for ((number = 0; number < 50; number++)); do
      started "$1" "$2"
      ((${#found[@]})) || break
      pause
    done
  done
  answer=$sent
}

note() {
  local pid
  look
  earlier=()
  for pid in "${!parent[@]}"; do earlier[$pid]=1; done
}

count() {
  look
  shell_of "$1"
  found=() answer=0
  [[ -n $shell ]] || return
  found[$shell]=1
  below true ''
  answer=$((${#found[@]} - 1))
}

clear() {
  local pid number
  for ((number = 0; number < 3; number++)); do
    look
    for pid in "${!parent[@]}"; do
      [[ ${token[$pid]-} == "$1" ]] && kill -s KILL "$pid" 2>/dev/null
    done
    pause
  done
}

echo "0 ready"
while read -r number verb name mark; do
  answer=
  case $verb in
    note | count | end | clear) "$verb" "$name" "$mark" ;;
  esac
  echo "$number $answer"
done
