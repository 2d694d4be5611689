import { RecordedSteps } from './recorded-steps';

describe('Recorded steps', () => {
  const buildSelectors = (css: string) => ({ selectors: [[css]] });
  let steps: RecordedSteps;
  const recordEvent = (event: object, target = 'main') => steps.recordPageEvent(JSON.stringify(event), target);
  const listRecordedSteps = () => steps.buildRecording('Title').steps;

  beforeEach(() => {
    steps = new RecordedSteps();
  });

  it('successive changes of a field, and successive scrolls, become one recorded step', () => {
    for (const value of ['C', 'C-', 'C-7']) recordEvent({ kind: 'change', ...buildSelectors('#claim'), value });
    for (const y of [10, 90]) recordEvent({ kind: 'scroll', x: 0, y });
    recordEvent({ kind: 'change', ...buildSelectors('#claim'), value: 'C-8' });
    expect(listRecordedSteps()).toEqual([
      { type: 'change', target: 'main', selectors: [['#claim']], value: 'C-7' },
      { type: 'scroll', target: 'main', x: 0, y: 90 },
      { type: 'change', target: 'main', selectors: [['#claim']], value: 'C-8' },
    ]);
  });

  it('a double click is recorded as one step instead of its two clicks', () => {
    const at = { ...buildSelectors('#row'), offsetX: 1, offsetY: 2 };
    for (const kind of ['click', 'click', 'click', 'doubleClick']) recordEvent({ kind, ...at });
    expect(listRecordedSteps().map(({ type }) => type)).toEqual(['click', 'doubleClick']);
  });

  it('a double click is recorded as one step even if the page scrolled between its two clicks', () => {
    const at = { ...buildSelectors('#row'), offsetX: 1, offsetY: 2 };
    recordEvent({ kind: 'click', ...at });
    recordEvent({ kind: 'scroll', x: 0, y: 40 });
    for (const kind of ['click', 'doubleClick']) recordEvent({ kind, ...at });
    expect(listRecordedSteps().map(({ type }) => type)).toEqual(['scroll', 'doubleClick']);
  });

  it('recorded steps never contain a password, not even in a URL or in another text', () => {
    const secretly = { metadata: { secret: true } };
    const secret = 'p&ss wörd/1';
    recordEvent({ kind: 'change', ...buildSelectors('#secret'), secret: 'p&' });
    recordEvent({ kind: 'change', ...buildSelectors('#secret'), secret });
    recordEvent({ kind: 'key', key: 'Enter', held: [] });
    steps.recordNavigation(
      'main',
      `https://portal.example/in?${new URLSearchParams({ secret })}#${encodeURIComponent(secret)}`,
      true,
    );
    recordEvent({ kind: 'change', ...buildSelectors('#shown'), value: `it is ${secret}` });
    recordEvent({ kind: 'change', ...buildSelectors('#again'), secret: 'other-secret' });
    recordEvent({ kind: 'change', ...buildSelectors('#secret'), secret });
    expect(listRecordedSteps()).toEqual([
      { type: 'change', target: 'main', ...buildSelectors('#secret'), value: '{{PASSWORD}}', ...secretly },
      {
        type: 'keyDown',
        target: 'main',
        key: 'Enter',
        assertedEvents: [
          { type: 'navigation', url: 'https://portal.example/in?secret={{PASSWORD}}#{{PASSWORD}}', title: '' },
        ],
      },
      { type: 'keyUp', target: 'main', key: 'Enter' },
      { type: 'change', target: 'main', ...buildSelectors('#shown'), value: 'it is {{PASSWORD}}' },
      { type: 'change', target: 'main', ...buildSelectors('#again'), value: '{{PASSWORD_2}}', ...secretly },
      { type: 'change', target: 'main', ...buildSelectors('#secret'), value: '{{PASSWORD}}', ...secretly },
    ]);
    expect(JSON.stringify(listRecordedSteps())).not.toContain('other-secret');
  });

  it('a typed URL is a new recorded step, but a navigation by the page belongs to the last step of its tab', () => {
    steps.recordNavigation('main', 'https://a.example/', false);
    steps.recordNavigation('main', 'https://a.example/welcome', true);
    recordEvent({ kind: 'click', ...buildSelectors('#help') });
    steps.recordNavigation('https://b.example/', 'https://b.example/2', true);
    steps.recordNavigation('main', 'https://a.example/2', true);
    steps.recordNavigation('main', 'https://a.example/3', true);
    const buildNavigation = (url: string) => [{ type: 'navigation', url, title: '' }];
    expect(listRecordedSteps()).toEqual([
      {
        type: 'navigate',
        target: 'main',
        url: 'https://a.example/',
        assertedEvents: buildNavigation('https://a.example/'),
      },
      expect.objectContaining({ type: 'click', assertedEvents: buildNavigation('https://a.example/2') }),
    ]);
  });

  it('a recorded key press contains the modifier keys that were held', () => {
    recordEvent({ kind: 'key', key: 'b', held: ['Control', 'Alt'] });
    expect(listRecordedSteps().map(({ type, key }) => `${String(type)} ${String(key)}`)).toEqual([
      'keyDown Control',
      'keyDown Alt',
      'keyDown b',
      'keyUp b',
      'keyUp Alt',
      'keyUp Control',
    ]);
  });

  it('events are not recorded if they are invalid or exceed a workflow’s maximum number of steps', () => {
    for (const text of [
      '',
      '[]',
      '{"kind":"click"}',
      '{"kind":"click","selectors":[[]]}',
      '{"kind":"steal","selectors":[["a"]]}',
    ]) {
      steps.recordPageEvent(text, 'main');
    }
    expect(steps.stepCount).toBe(0);
    for (let n = 0; n < 2010; n += 1) recordEvent({ kind: 'click', ...buildSelectors(`#n${n}`) });
    expect([steps.stepCount, steps.leftOutCount]).toEqual([2000, 10]);
  });
});
