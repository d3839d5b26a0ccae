package sketch

// copyWeights: is it the same article, measured on texts.
var copyWeights = Weights{Bias: -4.89, Of: Evidence{
	SoftLeast:    2.95,
	SoftMost:     0.57,
	Slots:        -4.20,
	Conflicts:    -1.32,
	Missing:      -2.14,
	News:         -0.79,
	Agreed:       0.39,
	Shared:       0.44,
	Longest:      -2.28,
	MeanRun:      0.54,
	Swaps:        -1.91,
	RestLeast:    -1.85,
	RestMost:     -2.45,
	Overhang:     -6.59,
	Novel:        0.43,
	NovelMost:    -6.05,
	Head:         1.75,
	HeadLeast:    0.07,
	Foreign:      -14.00,
	Subjects:     -1.68,
	Developments: -0.95,
	Echo:         -10.03,
}}

// storyWeights: is it the same story, measured on texts.
var storyWeights = Weights{Bias: -6.70, Of: Evidence{
	SoftLeast:    2.18,
	SoftMost:     4.14,
	Slots:        -1.04,
	Conflicts:    -1.44,
	Missing:      -2.51,
	News:         -0.07,
	Agreed:       0.74,
	Shared:       0.33,
	Longest:      -0.70,
	MeanRun:      0.63,
	Swaps:        -5.22,
	RestLeast:    -0.65,
	RestMost:     -1.86,
	Overhang:     -5.05,
	Novel:        0.63,
	NovelMost:    0.21,
	Head:         2.89,
	HeadLeast:    -3.34,
	Foreign:      -10.60,
	Subjects:     -1.78,
	Developments: 1.59,
	Echo:         -19.83,
}}

// copySketchWeights: is it the same article, estimated from sketches.
var copySketchWeights = Weights{Bias: -8.77, Of: Evidence{
	SoftLeast: 5.48,
	SoftMost:  1.58,
	Slots:     -3.15,
	Conflicts: -1.62,
	Missing:   -2.71,
	News:      -0.81,
	Agreed:    0.47,
	Shared:    0.53,
	Resembles: 2.85,
}}

// storySketchWeights: is it the same story, estimated from sketches.
var storySketchWeights = Weights{Bias: -7.94, Of: Evidence{
	SoftLeast: 0.04,
	SoftMost:  4.79,
	Slots:     0.77,
	Conflicts: -2.76,
	Missing:   -3.72,
	News:      -0.01,
	Agreed:    0.86,
	Shared:    0.84,
	Resembles: 1.34,
}}
