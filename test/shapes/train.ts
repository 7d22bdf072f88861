import { writeFileSync } from 'node:fs';
import { samplesOf } from './shapes.ts';
import { formatWeights, listExamples, train } from './training.ts';

/** The weights that inference uses. */
const FILE = new URL('../../src/inference/weights.json', import.meta.url);

writeFileSync(FILE, formatWeights(train(samplesOf('audit').flatMap(listExamples))));
