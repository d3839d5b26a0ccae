package main

import (
	"context"
	"io"
	"log/slog"

	"jianguo/internal/progress"
)

// streams are the inputs and outputs of a command.
type streams struct {
	ctx      context.Context
	in       io.Reader
	out      io.Writer
	err      io.Writer
	log      *slog.Logger
	progress progress.Reporter
}
