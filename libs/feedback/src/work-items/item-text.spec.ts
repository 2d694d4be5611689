import { buildMarker, buildItemText } from './item-text';

const item = {
  ...{ id: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e', type: 'bug_report' as const, title: 'Empty', description: 'No.' },
  ...{ steps: null, url: null, agentId: null, workflowId: null, jobId: null },
  ...{ severity: null, component: null, summary: null, duplicates: [] },
};
const another = buildMarker('0192f0c4-7b8e-7d3a-9c55-000000000000');

describe('the text of an issue', () => {
  it('an issue’s text contains only the marker of its own submission, even if the reporter wrote other markers', () => {
    const fields = { description: another, steps: another, summary: another, component: another.toUpperCase() };
    const url = `https://portal.example/claims?at=${another}#${another}`;
    const text = buildItemText({ ...item, ...fields, url }, null);
    expect(text.match(/muster-feedback:/gi)).toEqual(['muster-feedback:']);
    expect(text.endsWith(buildMarker(item.id))).toBe(true);
    // The marker in the URL is percent-encoded, so the URL still works.
    expect(text).toContain('https://portal.example/claims?at=muster-feedback%3A0192f0c4');
  });
});
