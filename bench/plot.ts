import { LOADS, type Load } from './loads.ts';
import { PEERS } from './peers.ts';
import { type Results, ratio } from './results.ts';

const WIDTH = 760;
const LABEL = 270;
const BAR = 16;
const HEAD = 34;

/** Draws the rates relative to L0, a panel for each load, as SVG. */
export function toSvg(results: Results): string {
  const panels: string[] = [];
  let top = 10;
  for (const load of LOADS) {
    const bars = barsOf(results, load);
    if (bars.length === 0) continue;
    panels.push(panel(load.title, bars, top));
    top += HEAD + bars.length * (BAR + 4) + 10;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${top}" font-family="sans-serif" font-size="12">
<title>Requests a second of Keytrail and its peers, relative to L0</title>
<rect width="100%" height="100%" fill="white"/>
${panels.join('\n')}
</svg>
`;
}

type Bar = { readonly name: string; readonly title: string; readonly value: number };

function barsOf(results: Results, { name: load }: Load): readonly Bar[] {
  return PEERS.flatMap(({ name, title }) => {
    const value = ratio(results, name, 'l0', load)?.median;
    return value === undefined ? [] : { name, title, value };
  });
}

function panel(title: string, bars: readonly Bar[], top: number): string {
  const largest = Math.max(...bars.map(({ value }) => value));
  const scale = (WIDTH - LABEL - 60) / largest;
  const rows = bars.map((bar, index) => {
    const y = top + HEAD + index * (BAR + 4);
    const width = Math.max(1, bar.value * scale).toFixed(1);
    const end = LABEL + Number(width) + 6;
    return `<text x="${LABEL - 8}" y="${y + 12}" text-anchor="end">${escapeXml(bar.title)}</text>
<rect x="${LABEL}" y="${y}" width="${width}" height="${BAR}" fill="${bar.name === 'keytrail' ? '#c2410c' : '#94a3b8'}"/>
<text x="${end}" y="${y + 12}">${bar.value.toFixed(2)}</text>`;
  });
  return `<text x="10" y="${top + 20}" font-weight="bold">${escapeXml(title)}, requests a second relative to L0</text>
${rows.join('\n')}`;
}

function escapeXml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
}
