package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"jianguo/ingest"
	"jianguo/segment"
)

type fingerprintCmd struct {
	Decimal bool `help:"Print decimal numbers instead of hexadecimal."`
	segmentFlags
}

// Run prints the fingerprint of each line of input; an empty text has 0.
func (c *fingerprintCmd) Run(co *streams) error {
	s, err := c.segmenter()
	if err != nil {
		return err
	}
	in, out := bufio.NewReaderSize(co.in, 1<<16), bufio.NewWriter(co.out)
	var text segment.Text
	for {
		line, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return errors.Join(fmt.Errorf("standard input: %w", err), out.Flush())
		}
		if err != nil && line == "" {
			return out.Flush()
		}
		s.Analyze(&text, "", strings.TrimRight(line, "\r\n"))
		p := ingest.Fingerprint(&text)
		if c.Decimal {
			fmt.Fprintln(out, uint64(p.Fingerprint))
		} else {
			fmt.Fprintln(out, p.Fingerprint)
		}
	}
}
