package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"jianguo/bus"
	"jianguo/index"
	"jianguo/ingest"
	"jianguo/ingest/prepared"
	"jianguo/ingest/prepared/encode"
	"jianguo/internal/companion"
	"jianguo/internal/reach"
	"jianguo/internal/settings"
	"jianguo/segment"
)

type segmentCmd struct {
	companion.Flags
	To      reach.Flags `embed:""`
	Workers int         `help:"Items prepared at once; 0: one a processor." default:"0"`
	settings.Segment
}

// Run prepares items for a running service.
func (c *segmentCmd) Run(co *companion.Streams) (err error) {
	s, err := c.Segmenter()
	if err != nil {
		return err
	}
	if err := c.To.Choose(); err != nil {
		return err
	}
	if c.To.NATS == "" && c.To.Data != "" && !reach.InUse(c.To.Data) {
		return fmt.Errorf("no service holds %s: start it, or give --nats", c.To.Data)
	}
	conn, done, err := connect(co, &c.To, c.Level())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	p := &preparer{conn: conn, segmenter: s, workers: cmp.Or(c.Workers, runtime.GOMAXPROCS(0)), log: co.Log}
	fmt.Fprintf(co.Err, "jianguo segment: prepares items for %s with recipe %s, %d at once\n", conn.ConnectedUrlRedacted(), s.Recipe(), p.workers)
	return p.run(co.Ctx)
}

// preparer prepares items for a service. It keeps nothing: what it does
// not finish the service does.
type preparer struct {
	conn      *nats.Conn
	segmenter *segment.Segmenter
	workers   int
	log       *slog.Logger
}

// run prepares items until ctx is done, and finishes those it has.
func (p *preparer) run(ctx context.Context) error {
	me := prepared.Beat{ID: rand.Text(), Recipe: p.segmenter.Recipe(), Workers: p.workers}
	said, err := json.Marshal(me)
	if err != nil {
		return err
	}
	items := make(chan *nats.Msg, prepared.Depth*p.workers)
	sub, err := p.conn.ChanSubscribe(bus.SubjectSegment+me.ID, items)
	if err != nil {
		return fmt.Errorf("segmenter: %w", err)
	}
	var workers sync.WaitGroup
	for range p.workers {
		workers.Go(func() {
			text := new(segment.Text)
			for m := range items {
				if err := m.Respond(p.prepare(text, m.Data)); err != nil {
					p.log.Warn("segmenter", "error", err)
				}
			}
		})
	}
	err = p.beats(ctx, said)
	_ = sub.Unsubscribe()
	close(items)
	workers.Wait()
	return err
}

// prepare returns the encoding of an article; nothing of one that is refused, which the service
// finds out by itself.
func (p *preparer) prepare(text *segment.Text, payload []byte) []byte {
	it, err := ingest.DecodeItem(payload)
	if err != nil {
		return nil
	}
	a := ingest.Prepare(p.segmenter, text, it)
	a.Recipe, a.Packed = p.segmenter.Recipe(), index.PackText(it.Body)
	return encode.Append(nil, a)
}

// beats says that this segmenter is there until ctx is done. It fails where the service has
// another recipe, and says so.
func (p *preparer) beats(ctx context.Context, said []byte) error {
	answers := make(chan *nats.Msg, 16)
	inbox := p.conn.NewInbox()
	sub, err := p.conn.ChanSubscribe(inbox, answers)
	if err != nil {
		return fmt.Errorf("segmenter: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	tick := time.NewTicker(prepared.BeatEvery)
	defer tick.Stop()
	for {
		if err := p.conn.PublishRequest(bus.SubjectSegmenter, inbox, said); err != nil {
			p.log.Warn("segmenter", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case m := <-answers:
			if m.Header.Get("Status") == "" { // not the bus, which says that there is no service yet
				return fmt.Errorf("segmenter: the service has the recipe %s, this program %s: give it the same version, --user-dict and --residue", m.Data, p.segmenter.Recipe())
			}
		case <-tick.C:
		}
	}
}
