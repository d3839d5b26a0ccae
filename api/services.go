package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"jianguo/bus"
	"jianguo/internal/must"
	"jianguo/internal/wrap"
)

const serviceName = "jianguo"

// Bounds of one endpoint.
const (
	busConcurrency = 32   // requests that are worked on at once
	busAdmitted    = 1024 // those, and others that wait; more get an error at once
	// Of its subscription, from which requests are taken without waiting.
	pendingMsgs  = 4096
	pendingBytes = 64 << 20
)

// serveBus registers the endpoints. stop removes them and waits for the requests that have begun.
func (s *Server) serveBus(ctx context.Context) (stop func() error, err error) {
	service, err := micro.AddService(s.cfg.Conn, micro.Config{
		Name:        serviceName,
		Version:     semanticVersion(s.cfg.Version),
		Description: "jianguo: has this been seen before?",
		ErrorHandler: func(_ micro.Service, err *micro.NATSError) {
			s.log.WarnContext(ctx, "service on the bus", "subject", err.Subject, "error", err.Description)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("api: services on the bus: %w", err)
	}
	// A request that has begun is finished.
	ctx = context.WithoutCancel(ctx)
	var running sync.WaitGroup
	stop = func() error {
		s.end()
		err := service.Stop()
		running.Wait()
		return wrap.Err(err, "api: services on the bus")
	}
	for _, e := range s.endpoints {
		admitted, working := make(limiter, busAdmitted), make(chan struct{}, busConcurrency)
		handler := micro.HandlerFunc(func(r micro.Request) {
			if err := admitted.enter(); err != nil {
				s.answer(ctx, e, r, err)
				return
			}
			running.Go(func() {
				defer admitted.leave()
				select {
				case working <- struct{}{}:
					defer func() { <-working }()
					s.answer(ctx, e, r, nil)
				case <-s.ending.Done():
					s.answer(ctx, e, r, errEnding)
				}
			})
		})
		if err := service.AddEndpoint(strings.ReplaceAll(e.subject, ".", "-"), handler,
			micro.WithEndpointSubject(e.subject),
			micro.WithEndpointPendingLimits(pendingMsgs, pendingBytes),
			micro.WithEndpointMetadata(map[string]string{"description": e.description})); err != nil {
			return nil, errors.Join(fmt.Errorf("api: service %s: %w", e.subject, err), stop())
		}
	}
	return stop, nil
}

// errEnding refuses requests that still wait for a place when the service ends.
var errEnding = NewProblem(http.StatusServiceUnavailable, "", "the service is shutting down: ask again")

// answer replies to one request, or refuses it with an error. An error reply is as
// micro's Request.Error makes it, with the HTTP status as its code, the sentence as
// its description and the Problem as its body. It does not go through the Request, by
// which nothing is to be sent any more once its handler has returned.
func (s *Server) answer(ctx context.Context, e endpoint, r micro.Request, err error) {
	reply := nats.NewMsg(r.Reply())
	if err == nil {
		reply.Data, err = handleMessage(ctx, e, r.Data())
	}
	code := http.StatusOK
	if err != nil {
		p := problemOf(err)
		code = p.Status
		if code == http.StatusInternalServerError { // 503 and 507 pass, and their cause logs itself
			s.log.ErrorContext(ctx, "service on the bus", "subject", e.subject, "error", err)
		}
		reply.Header.Set(micro.ErrorHeader, strings.Map(func(r rune) rune { return max(r, ' ') },
			p.Detail)) // on one line
		reply.Header.Set(micro.ErrorCodeHeader, strconv.Itoa(code))
		reply.Data, _ = json.Marshal(p) // no field can fail to encode
	}
	s.services.WithLabelValues(e.subject, strconv.Itoa(code)).Inc()
	if !bus.MayAnswer(reply.Subject) {
		return // no reply subject, or one that clients must not choose
	}
	if err := s.cfg.Conn.PublishMsg(reply); err != nil {
		s.log.WarnContext(ctx, "reply on the bus", "subject", e.subject, "error", err)
	}
}

// handleMessage makes an error of a panic: one bad message ends alone.
func handleMessage(ctx context.Context, e endpoint, data []byte) (reply []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("api: %s: panic: %v", e.subject, v)
		}
	}()
	return must.Try(func() []byte { return e.handle(ctx, data) })
}

var semantic = regexp.MustCompile(`^v?(\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?)$`)

// semanticVersion returns a version in the form that the bus requires; a version of another
// form is 0.0.0.
func semanticVersion(version string) string {
	if m := semantic.FindStringSubmatch(version); m != nil {
		return m[1]
	}
	return "0.0.0"
}
