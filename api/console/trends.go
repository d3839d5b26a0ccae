package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// A sample is taken every sampleEvery while the service runs; the operators' page draws those of
// the last day.
const (
	sampleEvery = 5 * time.Minute
	samplesKept = int(24 * time.Hour / sampleEvery)
)

// sample is what the operators' page draws over time: articles a minute, judged pairs a minute, events
// that lists and search lag behind, bytes in memory and on the disk.
type sample struct {
	at     time.Time
	values [5]float64
}

type samples struct {
	mu    sync.Mutex
	last  []sample // under mu
	pairs uint64   // under mu: judged before the last sample
}

// watch takes samples until the server shuts down.
func (s *samples) watch(c *Console) {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		s.take(c)
		select {
		case <-c.cfg.Done:
			return
		case <-tick.C:
		}
	}
}

func (s *samples) take(c *Console) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	articles, _ := c.cfg.Index.Rate()
	lists, search, err := c.cfg.Browse.Lag(context.Background())
	var disk int64
	files, err2 := sizes(c.cfg.Dir)
	for _, f := range files {
		disk += f.Size
	}
	if err != nil || err2 != nil {
		return // the page shows such an error
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	judged := c.cfg.Index.JudgedPairs()
	pairs := float64(judged-s.pairs) / sampleEvery.Minutes()
	s.pairs = judged
	s.last = append(s.last, sample{c.cfg.Now(), [5]float64{float64(articles), pairs, float64(max(lists, search)), float64(m.HeapInuse), float64(disk)}})
	s.last = s.last[max(0, len(s.last)-samplesKept):]
}

type file struct {
	Name string
	Size int64
}

// sizes lists what is in the data directory: a database with its write-ahead log, or a folder.
func sizes(dir string) (out []file, err error) {
	if dir == "" {
		return nil, nil
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil // files come and go
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(path, dir+string(filepath.Separator)), string(filepath.Separator))
		name = strings.TrimSuffix(strings.TrimSuffix(name, "-wal"), "-shm")
		if n := len(out); n == 0 || out[n-1].Name != name { // they come in order
			out = append(out, file{Name: name})
		}
		out[len(out)-1].Size += info.Size()
		return nil
	})
	return out, err
}

// trend is one of the samples' values over time.
type trend struct {
	Name, Most string
	*chart
}

// draw draws the samples.
func (s *samples) draw(p *page) (out []trend) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, name := range [][2]string{{"每分钟入库", "articles a minute"}, {"每分钟比对（对）", "judged pairs a minute"}, {"列表与检索落后（事件）", "lists and search behind (events)"}, {"内存", "memory"}, {"磁盘", "disk"}} {
		most := 1.0
		for _, x := range s.last {
			most = max(most, x.values[k])
		}
		said := func(v float64) string {
			if k < 3 {
				return p.Number(int64(v))
			}
			return p.Size(int64(v))
		}
		t := trend{Name: p.T(name[0], name[1]), Most: said(most), chart: &chart{Name: p.T(name[0], name[1])}}
		step := 100 / float64(samplesKept)
		for i, x := range s.last {
			height := 100 * x.values[k] / most
			t.Bars = append(t.Bars, bar{Left: 100 - step*float64(len(s.last)-i), Width: step, Title: fmt.Sprintf("%s: %s", p.Time(x.at), said(x.values[k])), Parts: []barPart{{"unique", 100 - height, height}}})
		}
		out = append(out, t)
	}
	return out
}
