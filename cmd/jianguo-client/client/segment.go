package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
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
	signalled := co.Ctx
	conn, done, err := connect(co, &c.To, c.Level()) // its context also ends where the bus refuses something
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	p := &preparer{conn: conn, segmenter: s, workers: cmp.Or(c.Workers, runtime.GOMAXPROCS(0)), log: co.Log}
	fmt.Fprintf(co.Err, "jianguo segment: prepares items for %s with recipe %s, %d at once\n", conn.ConnectedUrlRedacted(), s.Recipe(), p.workers)
	if err := p.run(co.Ctx); err != nil || signalled.Err() != nil {
		return err
	}
	return context.Cause(co.Ctx)
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
	me := prepared.Beat{ID: rand.Text(), Terms: prepared.Terms(p.segmenter.Recipe()), Workers: p.workers}
	said, err := json.Marshal(me)
	if err != nil {
		return err
	}
	requests := make(chan *nats.Msg, 1024) // of any number of services, each of which sends Depth a worker
	sub, err := p.conn.ChanSubscribe(bus.SubjectSegment+me.ID, requests)
	if err != nil {
		return fmt.Errorf("segmenter: %w", err)
	}
	var workers sync.WaitGroup
	for range p.workers {
		workers.Go(func() {
			text := new(segment.Text)
			for m := range requests {
				if err := m.Respond(p.answer(text, m.Data)); err != nil {
					p.log.Warn("segmenter", "error", err)
				}
			}
		})
	}
	err = p.beats(ctx, said)
	_ = sub.Unsubscribe()
	close(requests)
	workers.Wait()
	return err
}

// answer is what a request gets: the articles, and nothing in the place of those that do not fit in a message of the bus.
func (p *preparer) answer(text *segment.Text, request []byte) []byte {
	items, err := prepared.DecodeMessage(request)
	if err != nil {
		p.log.Warn("segmenter", "error", err)
		return nil
	}
	b := prepared.Append([]byte{prepared.Version}, []byte(p.segmenter.Recipe()))
	for i, item := range items {
		a := p.prepare(text, item)
		if len(b)+binary.MaxVarintLen64+len(a)+len(items)-i > int(p.conn.MaxPayload()) {
			a = nil
		}
		b = prepared.Append(b, a)
	}
	return b
}

// prepare returns the encoding of an article; nothing of one that is refused, which the service
// finds out by itself.
func (p *preparer) prepare(text *segment.Text, payload []byte) []byte {
	it, err := ingest.DecodeItem(payload)
	if err != nil {
		return nil
	}
	a := ingest.Prepare(p.segmenter, text, it)
	a.Packed = index.PackText(it.Body)
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
				return fmt.Errorf("segmenter: the service has the recipe %s, this program %s: give it the same version, --user-dict and --residue", m.Data, prepared.Terms(p.segmenter.Recipe()))
			}
		case <-tick.C:
		}
	}
}
