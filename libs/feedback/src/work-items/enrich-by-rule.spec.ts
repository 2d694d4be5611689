import { enrichByRule } from './enrich-by-rule';

type Words = Parameters<typeof enrichByRule>[0];

const report = (more: Partial<Words> = {}): Words => ({
  ...{ id: '9', type: 'bug_report', title: 'Claims list', description: 'It is empty.', severity: null, url: null },
  ...{ steps: null, agentId: null, workflowId: null },
  ...more,
});
const of = (more: Partial<Words>) => enrichByRule(report(more), []);

describe('what is told of feedback by rule', () => {
  it.each([
    ['critical', 'We had DATA LOSS tonight'],
    ['high', 'The page crashed'],
    ['high', 'I can’t log in, it is broken'],
    ['low', 'A typo in the header'],
    ['critical', 'A typo led to an outage'],
    ['medium', 'The list is short'],
    ['medium', 'The crashpad is fine'],
  ])('is %s for “%s”', (severity, description) => {
    expect(of({ description }).severity).toBe(severity);
  });

  it('is the severity that the reporter gave, and low for a wish', () => {
    expect(of({ description: 'It crashed', severity: 'low' }).severity).toBe('low');
    expect(of({ type: 'feature_request', description: 'It crashed' }).severity).toBe('low');
  });

  it('is the component of what it is about, the nearest first', () => {
    const url = 'https://portal.example/claims/12?x=1';
    expect(of({ url, agentId: 'a', workflowId: 'w' }).component).toBe('workflow');
    expect(of({ url, agentId: 'a' }).component).toBe('agent');
    expect(of({ url }).component).toBe('claims');
    expect([of({ url: 'https://portal.example/' }).component, of({ url: 'no url' }).component]).toEqual([null, null]);
  });

  it('is a summary of one sentence, never longer than 160', () => {
    expect(of({ description: 'It is empty. Since today.' }).summary).toBe('It is empty.');
    expect(of({ description: 'x'.repeat(500) }).summary).toHaveLength(160);
    expect(of({ description: '\nIt is empty.' }).summary).toBe('Claims list');
  });

  it('names at most five that say nearly the same, and none that only share a word', () => {
    const others = [
      { id: '1', title: 'claims LIST' },
      { id: '2', title: 'Claims page of the portal' },
      ...['3', '4', '5', '6', '7'].map((id) => ({ id, title: 'Claims list!' })),
    ];
    expect(enrichByRule(report(), others)).toMatchObject({ duplicates: ['1', '3', '4', '5', '6'], enrichedBy: 'rule' });
    expect(enrichByRule(report({ title: '…' }), [{ id: '1', title: '!' }]).duplicates).toEqual([]);
  });
});
