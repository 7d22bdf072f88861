import { describe, expect, it } from 'vitest';
import { completeList } from '../../../src/gateway/inference/complete-contract.ts';

const SECRETS = {
  status: 200,
  headers: {},
  body: { data: [{ client_id: 'a' }, { client_id: 'b' }], total: 9, next_cursor: 'c2' },
};

describe('completeList', () => {
  it('infers the records, the total and the pagination of a list that has no events', () => {
    const list = completeList(SECRETS);
    expect(list.records).toBe('/data');
    expect(list.total()).toBe('/total');
    expect(list.paging()).toMatchObject({ style: 'cursor', next: '/next_cursor', parameter: null });
  });

  it.each([
    ['a cursor', 's2', { next: '/mehr', parameter: 'weiter' }, 'cursor'],
    ['a cursor without its parameter', 's2', { next: '/mehr' }, 'cursor'],
    ['a link', '/api/v1/audit?seite=2', { next: '/mehr' }, 'next-link'],
    ['nothing, on the last page', null, { next: '/mehr', parameter: 'weiter' }, 'cursor'],
  ])('takes the style from a configured `next` of any name: %s', (_, mehr, paging, style) => {
    const list = completeList({ ...SECRETS, body: { Blatt: [{ Nr: 1 }], mehr } }, { paging });
    expect(list.paging()).toMatchObject({ style, ...paging });
  });

  it('keeps configured entries, null included', () => {
    const paging = { parameter: 'cursor', size: 'limit' };
    const list = completeList(SECRETS, { records: '/items', total: null, paging });
    expect(list.records).toBe('/items');
    expect(list.total()).toBeNull();
    expect(list.paging()).toMatchObject({ style: 'cursor', next: '/next_cursor', ...paging });
  });
});
