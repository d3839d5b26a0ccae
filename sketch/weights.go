package sketch

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -5.29, Of: Evidence{
	SoftLeast:    2.03,
	SoftMost:     0.72,
	Slots:        -4.10,
	Conflicts:    -1.32,
	Missing:      -2.29,
	News:         -0.86,
	Agreed:       0.35,
	Shared:       0.61,
	Longest:      -2.41,
	MeanRun:      0.63,
	Swaps:        -1.37,
	RestLeast:    -2.03,
	RestMost:     -2.44,
	Overhang:     -6.29,
	Novel:        0.35,
	NovelMost:    -6.76,
	Head:         2.00,
	HeadLeast:    0.16,
	Foreign:      -3.56,
	Subjects:     -1.61,
	Developments: -0.94,
	Echo:         -6.07,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -8.66, Of: Evidence{
	SoftLeast:    2.03,
	SoftMost:     3.51,
	Slots:        -1.11,
	Conflicts:    -1.41,
	Missing:      -2.44,
	News:         -0.22,
	Agreed:       0.72,
	Shared:       0.50,
	Longest:      -0.66,
	MeanRun:      0.88,
	Swaps:        -4.22,
	RestLeast:    -0.49,
	RestMost:     -1.69,
	Overhang:     -5.92,
	Novel:        0.53,
	NovelMost:    1.35,
	Head:         4.03,
	HeadLeast:    -3.15,
	Foreign:      -3.74,
	Subjects:     -1.54,
	Developments: 1.85,
	Echo:         -21.06,
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
