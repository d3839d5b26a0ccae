package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"jianguo/internal/testbed"
)

// FuzzDecodeItem: what is taken as an item has an id and is the same when it is sent again.
func FuzzDecodeItem(f *testing.F) {
	for _, s := range []string{`{"id":7,"body":"台风登陆。","published_at":"2026-03-01T08:00:00+08:00"}`, `{"id":"a","title":"x","revision":3,"url":"https://x"}`,
		`{"id":"","body":1}`, `{"id":"a"}`, `{"id":"a\u0000","body":"x"}`, `[]`, `{"id":1e3,"body":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if it, err := DecodeDocument(data); err == nil && it == nil {
			t.Fatal("neither an item nor an error")
		}
		it, err := DecodeItem(data)
		if err != nil {
			return
		}
		testbed.OK(t, CheckID(it.ID))
		b, err := json.Marshal(it)
		if err != nil {
			return // a year that JSON cannot hold; the API refuses it
		}
		again, err := DecodeItem(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if it.Published != nil && again.Published != nil && it.Published.Equal(*again.Published) {
			again.Published = it.Published
		}
		if !reflect.DeepEqual(it, again) {
			t.Fatalf("%+v and then %+v", it, again)
		}
	})
}

// FuzzDecodeWithdrawal: what is taken as a withdrawal has an id.
func FuzzDecodeWithdrawal(f *testing.F) {
	for _, s := range []string{`{"id":"a"}`, `{"id":7,"mode":"promote","reason":"x","revision":-1}`, `{"id":"a","mode":"x"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := DecodeWithdrawal(data)
		if err != nil {
			return
		}
		if err := CheckID(w.ID); err != nil || w.Revision < 0 || bytes.ContainsRune([]byte(w.ID), 0) {
			t.Fatalf("%+v: %v", w, err)
		}
	})
}

// FuzzDecodeEdit: what is taken as an edit changes something, and is read again as it was.
func FuzzDecodeEdit(f *testing.F) {
	for _, s := range []string{`{"decision":{"kind":"release","item":"a","expect":"suspect","by":"张三"}}`, `{"passage":{"source":"甲报","text":"x","state":"in"}}`,
		`{"review":{"Item":"a","Finding":"right"}}`, `{"source":{"source":"甲报","policy":"watched"}}`, `{}`, `{"decision":null}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decodeEdit(data)
		if err != nil {
			if _, named := errors.AsType[*FieldError](err); !named {
				t.Fatalf("%s: %v names no field", data, err)
			}
			return
		}
		again, err := json.Marshal(e)
		if err != nil {
			return // a time that JSON has no form for
		}
		got, err := decodeEdit(again)
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Fatalf("%s became %s: %v", data, again, err)
		}
	})
}
