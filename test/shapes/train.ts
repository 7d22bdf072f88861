import { readFileSync, writeFileSync } from 'node:fs';
import { listChangedReadings } from './evaluate.ts';
import { samplesOf } from './shapes.ts';
import { formatWeights, listExamples, train } from './training.ts';

/** The weights that inference uses. */
const FILE = new URL('../../src/gateway/inference/weights.json', import.meta.url);

const samples = samplesOf('audit');
const weights = train(samples.flatMap(listExamples));
const changes = listChangedReadings(samples, JSON.parse(readFileSync(FILE, 'utf8')), weights);
writeFileSync(FILE, formatWeights(weights));
for (const change of changes) process.stdout.write(`${change}\n`);
process.stdout.write(`Readings of samples that change: ${changes.length}\n`);
