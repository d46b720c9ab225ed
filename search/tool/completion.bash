# Completion of weft in bash: verbs, parts of verbs and options as the command itself lists them, then files.
# Installed as share/bash-completion/completions/weft; for one shell: source this file.
_weft() {
  local word=${COMP_WORDS[COMP_CWORD]} weft=${COMP_WORDS[0]} verb=() words=
  local i
  # Verbs stand in front of the first option: weft model tune.
  for ((i = 1; i < COMP_CWORD && i < 3; ++i)); do
    [[ ${COMP_WORDS[i]} =~ ^[a-z]+$ ]] || break
    verb+=("${COMP_WORDS[i]}")
  done
  if [[ $word == -* ]]; then
    words=$("$weft" "${verb[@]}" --help-all 2>/dev/null | grep -oE -- '(^|[ ,])--?[a-zA-Z][a-zA-Z-]*' | tr -d ' ,' | sort -u)
  else
    words=$("$weft" "${verb[@]}" --help 2>/dev/null | sed -n '/^Verbs$/,/^[^ ]*$/s/^  \([a-z]*\).*/\1/p')
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _weft weft
