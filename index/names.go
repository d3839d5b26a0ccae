package index

import (
	"jianguo/compare/reason"
	"jianguo/index/verdict"
)

// The types of package verdict that are part of the API of this package.
type (
	Verdict    = verdict.Verdict
	Rule       = verdict.Rule
	Cause      = verdict.Cause
	Article    = verdict.Article
	Withdrawal = verdict.Withdrawal
	Mutation   = verdict.Mutation
	Outcome    = verdict.Outcome
	FieldError = verdict.FieldError
	Facts      = reason.Facts
	Event      = verdict.Event
	Policy     = verdict.Policy
)

// See package verdict.
const (
	Unique    = verdict.Unique
	Suspect   = verdict.Suspect
	Duplicate = verdict.Duplicate
	Withdrawn = verdict.Withdrawn

	NoRule       = verdict.NoRule
	ByExact      = verdict.ByExact
	ByHamming    = verdict.ByHamming
	ByMargin     = verdict.ByMargin
	BySketch     = verdict.BySketch
	ByPassage    = verdict.ByPassage
	ByBlocked    = verdict.ByBlocked
	ByEditor     = verdict.ByEditor
	BySuspected  = verdict.BySuspected
	ByLicence    = verdict.ByLicence
	ByPreference = verdict.ByPreference
	ByExempt     = verdict.ByExempt
	ByAside      = verdict.ByAside

	CauseIngest     = verdict.CauseIngest
	CauseRevision   = verdict.CauseRevision
	CauseWithdrawal = verdict.CauseWithdrawal
	CausePromotion  = verdict.CausePromotion
	CauseEditor     = verdict.CauseEditor

	RulesHamming   = verdict.RulesHamming
	SuspectsReject = verdict.SuspectsReject

	Chinese = reason.Chinese
	English = reason.English
)

// See package verdict.
var (
	ErrNotFound = verdict.ErrNotFound
	ErrQuery    = verdict.ErrQuery

	DefaultPolicy = verdict.DefaultPolicy
	PackText      = verdict.PackText
	Why           = verdict.Why
	Wilson        = verdict.Wilson
)
