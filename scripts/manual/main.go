// Command manual makes the man page and the completions for bash and zsh from what
// `jianguo --help` prints: go run ./scripts/manual -binary bin/jianguo -o DIR
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// command is a command of the binary, as its help describes it.
type command struct {
	name  string // "dead list"
	usage string
	about string
	flags []option
	list  [][2]string // its commands, with a line about each
}

// option is a flag, or an argument.
type option struct {
	name, value, about string
}

var (
	flagLine    = regexp.MustCompile(`^ {2,6}(?:-\w, )?(--[a-z][a-z-]*|<[a-z]+>(?: \.\.\.)?)(=\S+)?(?: {2,}(.*))?$`)
	commandLine = regexp.MustCompile(`^  ([a-z]+(?: [a-z]+)?) {2,}(\S.*)$`)
)

// parse reads the help of a command.
func parse(name, help string) command {
	c := command{name: name}
	section := "about"
	for line := range strings.Lines(help) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "Usage: "):
			c.usage = strings.TrimPrefix(line, "Usage: ")
		case strings.HasPrefix(line, "Flags ") || line == "Flags:" || line == "Arguments:" || line == "Commands:":
			section = line
		case line == "" || strings.HasPrefix(line, "Run \""):
		case section == "about":
			c.about = strings.TrimSpace(c.about + " " + line)
		case section == "Commands:":
			if m := commandLine.FindStringSubmatch(line); m != nil {
				c.list = append(c.list, [2]string{m[1], m[2]})
			} else if n := len(c.list); n > 0 {
				c.list[n-1][1] += " " + strings.TrimSpace(line)
			}
		default:
			if m := flagLine.FindStringSubmatch(line); m != nil {
				c.flags = append(c.flags, option{m[1], strings.TrimPrefix(m[2], "="), m[3]})
			} else if n := len(c.flags); n > 0 {
				c.flags[n-1].about = strings.TrimSpace(c.flags[n-1].about + " " + strings.TrimSpace(line))
			}
		}
	}
	return c
}

func main() {
	binary := flag.String("binary", "bin/jianguo", "the binary")
	out := flag.String("o", "dist", "where to write")
	flag.Parse()
	help := func(args ...string) string {
		text, err := exec.Command(*binary, append(args, "--help")...).Output()
		if err != nil {
			log.Fatalf("%s %s --help: %v", *binary, strings.Join(args, " "), err)
		}
		return string(text)
	}
	top := parse("", help())
	var all []command
	var list [][2]string
	for _, c := range top.list {
		one := parse(c[0], help(strings.Fields(c[0])...))
		if len(one.list) == 0 {
			list, all = append(list, c), append(all, one)
		}
		for _, inner := range one.list {
			name := c[0] + " " + inner[0]
			list, all = append(list, [2]string{name, inner[1]}), append(all, parse(name, help(strings.Fields(name)...)))
		}
	}
	top.list = list
	version, err := exec.Command(*binary, "version").Output()
	if err != nil {
		log.Fatal(err)
	}
	_, release, _ := strings.Cut(strings.SplitN(string(version), "\n", 2)[0], " ")
	for name, text := range map[string]string{"jianguo.1": man(top, all, release), "jianguo.bash": bash(top, all), "_jianguo": zsh(top, all)} {
		if err := os.WriteFile(filepath.Join(*out, name), []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// roff escapes a text for a man page.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

func man(top command, all []command, release string) string {
	var b strings.Builder
	day := time.Unix(0, 0).UTC().Format(time.DateOnly)
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		var seconds int64
		if _, err := fmt.Sscan(epoch, &seconds); err != nil {
			log.Fatalf("SOURCE_DATE_EPOCH: %v", err)
		}
		day = time.Unix(seconds, 0).UTC().Format(time.DateOnly)
	}
	fmt.Fprintf(&b, ".TH JIANGUO 1 %q %q\n.SH NAME\njianguo \\- has this been seen before?\n.SH SYNOPSIS\n.B jianguo\n.I command\n[flags]\n.SH DESCRIPTION\n%s\n", day, "jianguo "+release, roff(top.about))
	b.WriteString("Every flag is also an environment variable: \\-\\-nats\\-listen is JIANGUO_NATS_LISTEN.\n.SH COMMANDS\n")
	for _, c := range all {
		fmt.Fprintf(&b, ".SS %s\n%s\n", roff(c.usage), roff(c.about))
		for _, f := range c.flags {
			if f.name == "--help" || f.name == "--log-level" {
				continue
			}
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(f.name+" "+f.value)), roff(f.about))
		}
	}
	b.WriteString(".SH FILES\n.TP\n.I /etc/jianguo/jianguo.env\nSettings of the service.\n.TP\n.I /etc/jianguo/tokens\nIts tokens.\n.TP\n.I /var/lib/jianguo\nIts data directory.\n")
	return b.String()
}

// words are the first and second words of the commands.
func words(top command) (first []string, second map[string][]string) {
	second = map[string][]string{}
	seen := map[string]bool{}
	for _, c := range top.list {
		one, two, _ := strings.Cut(c[0], " ")
		if !seen[one] {
			first, seen[one] = append(first, one), true
		}
		if two != "" {
			second[one] = append(second[one], two)
		}
	}
	return first, second
}

func bash(top command, all []command) string {
	first, second := words(top)
	var b strings.Builder
	fmt.Fprintf(&b, `# Completion of jianguo for bash.
_jianguo() {
    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} all=
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "%s" -- "$current"))
        return
    fi
    case $command in
`, strings.Join(first, " "))
	for _, one := range first {
		if list := second[one]; list != nil {
			fmt.Fprintf(&b, "    %s) if [ \"$COMP_CWORD\" -eq 2 ]; then COMPREPLY=($(compgen -W %q -- \"$current\")); return; fi; command=\"$command ${COMP_WORDS[2]}\" ;;\n", one, strings.Join(list, " "))
		}
	}
	b.WriteString("    esac\n    case $command in\n")
	for _, c := range all {
		var names []string
		for _, f := range c.flags {
			if strings.HasPrefix(f.name, "--") {
				names = append(names, f.name)
			}
		}
		fmt.Fprintf(&b, "    %q) all=%q ;;\n", c.name, strings.Join(names, " "))
	}
	b.WriteString(`    esac
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "$all" -- "$current"))
    else
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}
complete -o filenames -F _jianguo jianguo
`)
	return b.String()
}

// single quotes a text for zsh, in which brackets and colons of a description have a meaning.
func single(s string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "[", "(", "]", ")", ":", `\:`).Replace(s) + "'"
}

func zsh(top command, all []command) string {
	first, second := words(top)
	about := map[string]string{}
	for _, c := range top.list {
		about[c[0]] = c[1]
	}
	describe := func(prefix string, list []string) string {
		var lines []string
		for _, w := range list {
			lines = append(lines, strings.Replace(single(w+"\x00"+about[strings.TrimSpace(prefix+" "+w)]), "\x00", ":", 1))
		}
		return strings.Join(lines, " ")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef jianguo\n# Completion of jianguo for zsh.\nlocal -a list\nlocal command=$words[2]\nif (( CURRENT == 2 )); then\n  list=(%s)\n  _describe command list\n  return\nfi\ncase $command in\n", describe("", first))
	for _, one := range first {
		if second[one] != nil {
			fmt.Fprintf(&b, "%s)\n  if (( CURRENT == 3 )); then\n    list=(%s)\n    _describe command list\n    return\n  fi\n  command=\"$command $words[3]\" ;;\n", one, describe(one, second[one]))
		}
	}
	b.WriteString("esac\ncase $command in\n")
	for _, c := range all {
		fmt.Fprintf(&b, "%q) _arguments", c.name)
		for _, f := range c.flags {
			if !strings.HasPrefix(f.name, "--") {
				continue
			}
			value := ""
			if f.value != "" {
				value = ":value:_files"
			}
			fmt.Fprintf(&b, " '%s['%s']%s'", f.name, single(f.about), value)
		}
		b.WriteString(" '*:file:_files' ;;\n")
	}
	b.WriteString("esac\n")
	return b.String()
}
