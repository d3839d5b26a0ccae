package sketch

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -5.24, Of: Evidence{
	SoftLeast:    1.89,
	SoftMost:     0.45,
	Slots:        -4.06,
	Conflicts:    -1.41,
	Missing:      -2.08,
	News:         -0.84,
	Agreed:       0.34,
	Shared:       0.60,
	Longest:      -2.41,
	MeanRun:      0.68,
	Swaps:        -1.60,
	RestLeast:    -1.72,
	RestMost:     -2.52,
	Overhang:     -6.62,
	Novel:        0.30,
	NovelMost:    -6.08,
	Head:         2.25,
	HeadLeast:    0.18,
	Foreign:      -13.67,
	Subjects:     -1.67,
	Developments: -0.86,
	Echo:         -5.27,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -8.56, Of: Evidence{
	SoftLeast:    1.92,
	SoftMost:     2.89,
	Slots:        -1.08,
	Conflicts:    -1.50,
	Missing:      -2.02,
	News:         -0.18,
	Agreed:       0.72,
	Shared:       0.51,
	Longest:      -0.72,
	MeanRun:      0.92,
	Swaps:        -4.32,
	RestLeast:    -0.29,
	RestMost:     -1.35,
	Overhang:     -6.55,
	Novel:        0.49,
	NovelMost:    1.33,
	Head:         4.43,
	HeadLeast:    -3.09,
	Foreign:      -12.38,
	Subjects:     -1.54,
	Developments: 1.77,
	Echo:         -23.20,
}}

// copySketchWeights: is it the same article, estimated from sketches.
var copySketchWeights = Weights{Bias: -9.35, Of: Evidence{
	SoftLeast: 5.22,
	SoftMost:  2.21,
	Slots:     -2.56,
	Conflicts: -1.45,
	Missing:   -2.61,
	News:      -0.94,
	Agreed:    0.38,
	Shared:    0.84,
	Resembles: 0.67,
}}

// storySketchWeights: is it the same story, estimated from sketches.
var storySketchWeights = Weights{Bias: -8.62, Of: Evidence{
	SoftLeast: 0.76,
	SoftMost:  4.44,
	Slots:     0.80,
	Conflicts: -2.74,
	Missing:   -3.13,
	News:      -0.21,
	Agreed:    0.86,
	Shared:    1.05,
	Resembles: 0.32,
}}
