# Completion of jianguo for bash; zsh reads it after `autoload -U bashcompinit && bashcompinit`.
complete -o default -C 'jianguo completion' jianguo
