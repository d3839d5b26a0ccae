package console

import (
	"context"
	"fmt"
	"runtime"
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
func (c operations) watch() {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		c.sample()
		select {
		case <-c.cfg.Done:
			return
		case <-tick.C:
		}
	}
}

func (c operations) sample() {
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
	c.samples.mu.Lock()
	defer c.samples.mu.Unlock()
	judged := c.cfg.Index.JudgedPairs()
	pairs := float64(judged-c.samples.pairs) / sampleEvery.Minutes()
	c.samples.pairs = judged
	s := append(c.samples.last, sample{c.cfg.Now(), [5]float64{float64(articles), pairs, float64(max(lists, search)), float64(m.HeapInuse), float64(disk)}})
	c.samples.last = s[max(0, len(s)-samplesKept):]
}

// trend is one of the samples' values over time.
type trend struct {
	Name, Most string
	*chart
}

// Trends draws the samples.
func (p *page) Trends() (out []trend) {
	c := &p.c.samples
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, name := range [][2]string{{"每分钟入库", "articles a minute"}, {"每分钟比对（对）", "judged pairs a minute"}, {"列表与检索落后（事件）", "lists and search behind (events)"}, {"内存", "memory"}, {"磁盘", "disk"}} {
		most := 1.0
		for _, s := range c.last {
			most = max(most, s.values[k])
		}
		said := func(v float64) string {
			if k < 3 {
				return p.Number(int64(v))
			}
			return p.Size(int64(v))
		}
		t := trend{Name: p.T(name[0], name[1]), Most: said(most), chart: &chart{Name: p.T(name[0], name[1])}}
		step := 100 / float64(samplesKept)
		for i, s := range c.last {
			height := 100 * s.values[k] / most
			t.Bars = append(t.Bars, bar{Left: 100 - step*float64(len(c.last)-i), Width: step, Title: fmt.Sprintf("%s: %s", p.Time(s.at), said(s.values[k])), Parts: []barPart{{"unique", 100 - height, height}}})
		}
		out = append(out, t)
	}
	return out
}
