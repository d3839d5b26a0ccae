package sketch

// DefaultThresholds were chosen by cross-validation; the quality test of this
// package fits the weights, prints the table, and says when they have drifted.
func DefaultThresholds() Thresholds {
	return Thresholds{
		Duplicate: .55, Suspect: .68, Doubt: .42, Related: .25,
		Copy: copyWeights, Story: storyWeights,
		CopySketch: copySketchWeights, StorySketch: storySketchWeights,
	}
}

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -7.08, Of: Evidence{
	SoftLeast: 3.86,
	SoftMost:  1.05,
	Slots:     -4.13,
	Conflicts: -1.34,
	Missing:   -2.06,
	News:      -0.87,
	Agreed:    0.34,
	Shared:    0.62,
	Longest:   -2.60,
	MeanRun:   0.63,
	Swaps:     -1.15,
	RestLeast: -2.75,
	RestMost:  -3.34,
	Novel:     0.35,
	NovelMost: -6.55,
	Head:      1.67,
	HeadLeast: 0.55,
	Foreign:   -3.62,
	Subjects:  -1.46,
	Echo:      -5.60,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -10.70, Of: Evidence{
	SoftLeast: 4.20,
	SoftMost:  3.77,
	Slots:     -0.51,
	Conflicts: -1.47,
	Missing:   -2.30,
	News:      -0.27,
	Agreed:    0.75,
	Shared:    0.62,
	Longest:   -0.80,
	MeanRun:   0.80,
	Swaps:     -4.22,
	RestLeast: -0.67,
	RestMost:  -1.60,
	Novel:     0.55,
	NovelMost: 1.31,
	Head:      3.77,
	HeadLeast: -3.20,
	Foreign:   -3.41,
	Subjects:  -1.65,
	Echo:      -25.49,
}}

// copySketchWeights: is it the same article, estimated from sketches.
var copySketchWeights = Weights{Bias: -9.51, Of: Evidence{
	SoftLeast: 5.17,
	SoftMost:  2.55,
	Slots:     -2.15,
	Conflicts: -1.52,
	Missing:   -3.02,
	News:      -0.90,
	Agreed:    0.38,
	Shared:    0.79,
	Resembles: 0.98,
}}

// storySketchWeights: is it the same story, estimated from sketches.
var storySketchWeights = Weights{Bias: -8.78, Of: Evidence{
	SoftLeast: 0.18,
	SoftMost:  5.30,
	Slots:     0.51,
	Conflicts: -2.71,
	Missing:   -3.54,
	News:      -0.17,
	Agreed:    0.82,
	Shared:    1.05,
	Resembles: 0.27,
}}
