package sketch

// DefaultThresholds were chosen by cross-validation; the quality test of this
// package fits the weights, prints the table, and says when they have drifted.
func DefaultThresholds() Thresholds {
	return Thresholds{
		Duplicate: .58, Suspect: .5, Doubt: .3, Related: .2,
		Copy: copyWeights, Story: storyWeights,
		CopySketch: copySketchWeights, StorySketch: storySketchWeights,
	}
}

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -7.16, Of: Evidence{
	SoftLeast: 4.44,
	SoftMost:  0.84,
	Slots:     -4.35,
	Conflicts: -1.31,
	Missing:   -2.15,
	News:      -1.05,
	Agreed:    0.45,
	Shared:    0.69,
	Longest:   -2.87,
	MeanRun:   0.44,
	Swaps:     -1.33,
	RestLeast: -2.77,
	RestMost:  -3.52,
	Novel:     0.48,
	NovelMost: -6.42,
	Head:      2.03,
	Strangers: -3.52,
	Echo:      -2.48,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -9.71, Of: Evidence{
	SoftLeast: 3.38,
	SoftMost:  3.51,
	Slots:     -0.78,
	Conflicts: -1.50,
	Missing:   -2.08,
	News:      -0.37,
	Agreed:    1.06,
	Shared:    0.78,
	Longest:   -1.50,
	MeanRun:   0.43,
	Swaps:     -5.24,
	RestLeast: -2.02,
	RestMost:  -2.28,
	Novel:     0.74,
	NovelMost: 1.57,
	Head:      1.11,
	Strangers: -3.17,
	Echo:      -24.22,
}}

// copySketchWeights: is it the same article, estimated from sketches.
var copySketchWeights = Weights{Bias: -9.71, Of: Evidence{
	SoftLeast: 5.78,
	SoftMost:  2.27,
	Slots:     -2.50,
	Conflicts: -1.54,
	Missing:   -3.08,
	News:      -1.02,
	Agreed:    0.43,
	Shared:    0.78,
	Resembles: 1.31,
}}

// storySketchWeights: is it the same story, estimated from sketches.
var storySketchWeights = Weights{Bias: -8.46, Of: Evidence{
	SoftLeast: 0.19,
	SoftMost:  5.14,
	Slots:     0.22,
	Conflicts: -2.76,
	Missing:   -3.65,
	News:      -0.36,
	Agreed:    1.01,
	Shared:    1.06,
	Resembles: 0.16,
}}
