import { enrichByRule } from './enrich-by-rule';

type ReportText = Parameters<typeof enrichByRule>[0];

const makeReport = (more: Partial<ReportText> = {}): ReportText => ({
  ...{ id: '9', type: 'bug_report', title: 'Claims list', description: 'The list is empty.', severity: null },
  ...{ url: null, steps: null, agentId: null, workflowId: null },
  ...more,
});
const enrichReport = (more: Partial<ReportText>) => enrichByRule(makeReport(more), []);

describe('the enrichment of feedback by rules', () => {
  it.each([
    ['critical', 'We had DATA LOSS tonight'],
    ['high', 'The page crashed'],
    ['high', 'I can’t log in, it is broken'],
    ['low', 'A typo in the header'],
    ['critical', 'A typo led to an outage'],
    ['medium', 'The list is short'],
    ['medium', 'The crashpad is fine'],
  ])('the feedback rules choose severity %s for a report with the text “%s”', (severity, description) => {
    expect(enrichReport({ description }).severity).toBe(severity);
  });

  it('a report’s text does not affect the severity if the reporter chose one or requests a feature', () => {
    expect(enrichReport({ description: 'The page crashed', severity: 'low' }).severity).toBe('low');
    expect(enrichReport({ type: 'feature_request', description: 'The page crashed' }).severity).toBe('low');
  });

  it('the feedback rules take the component of a report from its workflow, else its agent, else its URL', () => {
    const url = 'https://portal.example/claims/12?x=1';
    expect(enrichReport({ url, agentId: 'a', workflowId: 'w' }).component).toBe('workflow');
    expect(enrichReport({ url, agentId: 'a' }).component).toBe('agent');
    expect(enrichReport({ url }).component).toBe('claims');
    expect([
      enrichReport({ url: 'https://portal.example/' }).component,
      enrichReport({ url: 'no url' }).component,
    ]).toEqual([null, null]);
  });

  it('the feedback rules write a summary of one sentence with at most 160 characters', () => {
    expect(enrichReport({ description: 'The list is empty. Since today.' }).summary).toBe('The list is empty.');
    expect(enrichReport({ description: 'x'.repeat(500) }).summary).toHaveLength(160);
    expect(enrichReport({ description: '\nThe list is empty.' }).summary).toBe('Claims list');
  });

  it('the feedback rules list at most five duplicates with nearly the same title, and none that only share a word', () => {
    const others = [
      { id: '1', title: 'claims LIST' },
      { id: '2', title: 'Claims page of the portal' },
      ...['3', '4', '5', '6', '7'].map((id) => ({ id, title: 'Claims list!' })),
    ];
    expect(enrichByRule(makeReport(), others)).toMatchObject({
      duplicates: ['1', '3', '4', '5', '6'],
      enrichedBy: 'rule',
    });
    expect(enrichByRule(makeReport({ title: '…' }), [{ id: '1', title: '!' }]).duplicates).toEqual([]);
  });
});
