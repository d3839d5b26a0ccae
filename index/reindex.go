package index

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"jianguo/index/reindex"
	"jianguo/index/sqlite"
)

// See package reindex.
type (
	ReindexConfig   = reindex.Config
	ReindexReport   = reindex.Report
	ReindexEstimate = reindex.Estimate
)

// WordsFileName is the file of the word index inside the data directory.
const WordsFileName = reindex.WordsFileName

// Reindex makes the catalogue in cfg.Dir compare its versions by a new recipe; see
// reindex.Run. The caller keeps other processes out of the directory, unless
// cfg.Prepare is set.
func Reindex(ctx context.Context, cfg ReindexConfig) (report *ReindexReport, err error) {
	path := filepath.Join(cfg.Dir, FileName)
	db, err := sqlite.Open(path, sqlite.Writes, "FULL")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	bring := migrate
	if cfg.Prepare {
		bring = current
	}
	if err := bring(ctx, db); err != nil {
		return nil, fmt.Errorf("index: %s: %w", path, err)
	}
	if report, err = reindex.Run(ctx, db, cfg); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return report, nil
}

// EstimateReindex estimates the work of Reindex. It changes nothing, and may run while
// a service uses the directory.
func EstimateReindex(ctx context.Context, cfg ReindexConfig) (e *ReindexEstimate, err error) {
	path := filepath.Join(cfg.Dir, FileName)
	db, err := sqlite.Open(path, sqlite.Reads, "FULL")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if e, err = reindex.Sample(ctx, db, cfg); err != nil {
		return nil, fmt.Errorf("index: %s: %w", path, err)
	}
	return e, nil
}
