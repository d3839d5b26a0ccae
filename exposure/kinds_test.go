package exposure

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jianguo/exposure/eventlog"
	"jianguo/exposure/state"
	"jianguo/exposure/story"
	"jianguo/exposure/wire"
)

// kindsConfig has four histories with policies of their own, which keep seven kinds.
func kindsConfig() Config {
	small := state.Policy{Slots: 3, Capacity: 64, Tail: 16, Target: 1e-9}
	quarter, month := small, small
	quarter.TTL, month.Kind, month.Months = 90*24*time.Hour, state.Calendar, 1
	return Config{
		Policies: map[string]state.Policy{"": small, "video": small, "disliked": quarter, "clicked": month},
		Kinds:    map[string][]string{"disliked": {"disliked", "muted"}, "clicked": {"clicked", "muted"}},
		Scenes: map[string]Scene{
			"":       {Reads: []string{"", "disliked"}, Writes: []string{"", "disliked", "clicked"}},
			"player": {Reads: []string{"video", "disliked"}, Writes: []string{"video", "disliked"}},
			"search": {Reads: []string{"disliked"}},
			"all":    {Reads: []string{"clicked", "", "video", "disliked"}},
			"none":   {},
		},
	}
}

// TestKinds holds reports of many kinds in many scenes to an exact model a history, through un-sees, forgets, expiry,
// restarts and crashes: what a history keeps never comes back in a scene that reads it, and what was never
// reported always does.
func TestKinds(t *testing.T) {
	cfg := kindsConfig()
	scenes := append(slices.Sorted(maps.Keys(cfg.Scenes)), "elsewhere")
	rapid.Check(t, func(rt *rapid.T) {
		cfg := cfg
		cfg.Path, cfg.FlushAge = fmt.Sprintf("%s/%d.db", t.TempDir(), time.Now().UnixNano()), time.Hour
		cfg.CacheBytes = rapid.SampledFrom([]int64{1, 1 << 20}).Draw(rt, "cache")
		f := newFixture(t, cfg)
		defer f.end()
		models := map[string]*model{}
		clean := func() {
			for h, p := range f.policies {
				models[h] = &model{pol: *p, known: map[string]bool{}}
			}
		}
		clean()
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		scene := func(t *rapid.T) string { return rapid.SampledFrom(scenes).Draw(t, "scene") }
		items := func(t *rapid.T) (list []string) {
			for range rapid.SampledFrom([]int{1, 20, 70}).Draw(t, "n") {
				list = append(list, fmt.Sprint(rng.IntN(300)))
			}
			return list
		}
		report := func(t *rapid.T) {
			ev := Event{Kind: state.EventKind(rapid.SampledFrom(f.kinds).Draw(t, "kind")), User: "u", Scene: scene(t), Items: items(t)}
			now := f.clock.now().In(shanghai)
			if rapid.Bool().Draw(t, "dated") {
				ev.At = now.Add(-time.Duration(rapid.IntRange(0, 50*24).Draw(t, "hours")) * time.Hour)
			}
			f.must(f.Expose(t.Context(), ev))
			for _, h := range f.scene(ev.Scene).Writes {
				m := models[h]
				switch at := m.pol.Clamp(ev.At, now); {
				case !slices.Contains(f.keeps[h], string(ev.Kind)):
				case ev.Kind == state.Delivered:
					m.deliver(ev.Items, at, now)
				default:
					m.see(ev.Items, at, now)
				}
			}
		}
		check := func(t *rapid.T) {
			now := f.clock.now().In(shanghai)
			for _, scene := range scenes {
				held := map[string]bool{}
				for _, h := range f.scene(scene).Reads {
					maps.Copy(held, models[h].held(now))
				}
				ask := append(slices.Collect(maps.Keys(held)), "never-1", "never-2")
				got, err := f.Filter(t.Context(), Request{User: "u", Scene: scene, Items: ask})
				if err != nil || !slices.Equal(got.Items, []string{"never-1", "never-2"}) {
					t.Fatalf("scene %q: %v of %d held, %v", scene, got.Items, len(held), err)
				}
				for i, id := range []string{ask[0], "never-1"} {
					x, err := f.Explain(t.Context(), "u", id, scene)
					if err != nil || x.Dropped != (i == 0 && len(held) > 0) {
						t.Fatalf("scene %q: %s %v", scene, x, err)
					}
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"report": report, "report2": report, "report3": report,
			"unsee": func(t *rapid.T) {
				in, list := scene(t), items(t)[:1]
				if err := f.Unsee(t.Context(), "u", in, list); errors.Is(err, ErrExceptions) {
					return
				} else if err != nil {
					t.Fatal(err)
				}
				for _, h := range f.scene(in).all() {
					m := models[h]
					m.ring = without(m.ring, list[0])
					for i := range m.seen {
						if m.seen[i].id == list[0] {
							m.seen[i].id = ""
						}
					}
				}
				got, err := f.Filter(t.Context(), Request{User: "u", Scene: in, Items: list})
				if err != nil || len(got.Items) != 1 {
					t.Fatalf("un-seen in %q: %+v %v", in, got, err)
				}
			},
			"forget": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "rarely") == 0 {
					f.must(f.Forget(t.Context(), "u"))
					clean()
				}
			},
			"wait": func(t *rapid.T) {
				f.clock.advance(time.Duration(rapid.SampledFrom([]int{1, 30, 4 * 24, 6 * 24, 40 * 24}).Draw(t, "hours")) * time.Hour)
			},
			"flush":   func(t *rapid.T) { f.must(f.Flush(t.Context())) },
			"sweep":   func(t *rapid.T) { f.must(f.Sweep(t.Context())) },
			"restart": func(*rapid.T) { f.restart() },
			"crash":   func(*rapid.T) { f.crash() },
			"":        check,
		})
	})
}

// TestForgetUnlisted: a forget also takes what a history holds that the policy file lists no more, and for others that is
// kept until the file lists it again.
func TestForgetUnlisted(t *testing.T) {
	cfg := kindsConfig()
	f := newFixture(t, cfg)
	for _, user := range []string{"u", "v"} {
		f.must(f.Expose(t.Context(), Event{Kind: state.Seen, User: user, Scene: "player", Items: ids(0, 200)}))
	}
	f.must(f.Store.Close())
	f.cfg.Scenes = nil
	f.open()
	f.must(f.Forget(t.Context(), "u"))
	f.must(f.Store.Close())
	f.cfg.Scenes = cfg.Scenes
	f.open()
	for user, want := range map[string]int{"u": 1, "v": 0} {
		r, err := f.Filter(t.Context(), Request{User: user, Scene: "player", Items: ids(199, 200)})
		if err != nil || len(r.Items) != want {
			t.Errorf("%s: %+v %v", user, r, err)
		}
	}
}

// TestKindsReachAll: links, stories, un-see, forget and query reach every history of a scene; at_least never brings
// back what another history than the first holds.
func TestKindsReachAll(t *testing.T) {
	cfg := kindsConfig()
	cfg.Stories = story.New()
	tell(cfg.Stories, 1, "original", "copy")
	cfg.Stories.SetReady()
	f := newFixture(t, cfg)
	f.must(f.Expose(t.Context(), Event{Kind: state.Link, User: "ann", From: "phone"}))
	f.report("disliked", "phone", append(ids(0, 60), "original")...)
	f.report(state.Seen, "phone", ids(60, 160)...)
	ask := func(want []string, r Request) {
		t.Helper()
		got, err := f.Filter(t.Context(), r)
		if err != nil || got.Degraded != "" || !slices.Equal(append(got.Items, got.Relaxed...), want) {
			t.Errorf("%+v: %+v %v, want %q", r, got, err, want)
		}
	}
	for range 2 {
		ask([]string{"copy", "new"}, Request{User: "ann", Items: append(ids(0, 160), "copy", "new")})
		ask([]string{"new"}, Request{User: "ann", Items: []string{"copy", "new"}, Scope: "story"})
		ask([]string{"new", "item-000000060"}, Request{User: "ann", AtLeast: 2, Items: append(append(ids(0, 30), "new"), ids(60, 61)...)})
		f.restart()
	}
	x, err := f.Explain(t.Context(), "ann", "original", "search")
	if want := "- history \"disliked\": linked user \"phone\": seen on " + f.clock.now().In(shanghai).Format(time.DateOnly); err != nil || !strings.Contains(x.String(), want) {
		t.Errorf("%s %v, want %s", x, err, want)
	}
	if x, err = f.Explain(t.Context(), "ann", "original", "none"); err != nil || x.Dropped || !strings.Contains(x.String(), "reads no history") {
		t.Errorf("%s %v", x, err)
	}
	info, err := f.Query(t.Context(), "phone", "", []string{"original"})
	if err != nil || len(info.Others) != 2 || info.Items[0].Seen || info.Others[0].History != "disliked" || !info.Others[0].Items[0].Seen || info.Others[1].Items[0].Seen {
		t.Errorf("query: %+v %v", info, err)
	}
	f.must(f.Unsee(t.Context(), "ann", "search", []string{"original", ids(0, 1)[0], ids(60, 61)[0]}))
	ask([]string{"original", "item-000000000"}, Request{User: "ann", Items: []string{"original", ids(0, 1)[0], ids(60, 61)[0]}})
	f.must(f.Forget(t.Context(), "ann"))
	ask(ids(0, 160), Request{User: "phone", Items: ids(0, 160), Scene: "all"})
}

// TestKindsListed: a kind that no history keeps is refused with a list of those that there are, as a report and in
// the log; what was logged as a kind that is no longer listed is set aside, and later events count.
func TestKindsListed(t *testing.T) {
	cfg, dead := kindsConfig(), []string(nil)
	cfg.Dead = func(_ context.Context, e eventlog.Entry, _ string, reason error) error {
		dead = append(dead, e.Subject+": "+reason.Error())
		return nil
	}
	f := newFixture(t, cfg)
	const list = "delivered or seen or clicked or disliked or muted"
	for kind, want := range map[string]string{"liked": `kind is "liked": ` + list, "": "kind is missing: " + list, "unsee": `kind is "unsee": ` + list} {
		var bad *wire.Error
		err := f.Report(t.Context(), fmt.Appendf(nil, `{"user":"u","kind":%q,"items":["a"]}`, kind), "")
		if !errors.As(err, &bad) || bad.Field != "kind" || !strings.Contains(err.Error(), strings.TrimPrefix(want, "kind ")) {
			t.Errorf("%q: %v, want %s", kind, err, want)
		}
	}
	f.must(f.Report(t.Context(), []byte(`{"user":"u","kind":"muted","items":["m"]}`), ""))
	f.cfg.Kinds = map[string][]string{"disliked": {"disliked"}}
	f.crash()
	if len(dead) != 1 || !strings.HasPrefix(dead[0], "exposures.muted.0: ") || !strings.HasSuffix(dead[0], `"muted": delivered or seen or disliked`) {
		t.Errorf("dead: %q", dead)
	}
	f.report(state.Seen, "u", "s")
	if got := f.unseenOf("u", "m", "s"); !slices.Equal(got, []string{"m"}) {
		t.Errorf("after the kind was taken away: %v", got)
	}
}

// TestKindsCostNothing: the state of a user who has no reports of further kinds is the same bytes as without them.
func TestKindsCostNothing(t *testing.T) {
	with, without := kindsConfig(), Config{}
	without.Policies = map[string]state.Policy{"": with.Policies[""]}
	var files []map[string]string
	for _, cfg := range []Config{with, without} {
		f := newFixture(t, cfg)
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range 300 {
			n := rng.IntN(600)
			f.report([]state.EventKind{state.Seen, state.Delivered}[rng.IntN(2)], fmt.Sprint("u", rng.IntN(3)), ids(n, n+1+rng.IntN(30))...)
			if i%50 == 49 {
				f.must(f.Unsee(t.Context(), "u1", "", ids(n, n+1)))
				f.must(f.Flush(t.Context()))
			}
			f.clock.advance(time.Duration(rng.IntN(3600)) * time.Second)
		}
		f.must(f.Flush(t.Context()))
		rows := map[string]string{}
		db, err := sql.Open("sqlite3", f.cfg.Path)
		f.must(err)
		defer db.Close()
		all, err := db.Query("SELECT history || '/' || user, head FROM user UNION ALL SELECT id, data FROM shard")
		f.must(err)
		for all.Next() {
			var key, data string
			f.must(all.Scan(&key, &data))
			rows[key] = data
		}
		f.must(all.Err())
		files = append(files, rows)
	}
	if diff := cmp.Diff(files[0], files[1]); diff != "" || len(files[0]) < 10 {
		t.Errorf("%d rows: %.500s", len(files[0]), diff)
	}
}
