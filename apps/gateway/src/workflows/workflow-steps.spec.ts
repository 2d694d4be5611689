import { type Harness, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

const open = { id: 'open', type: 'navigate', url: 'https://example.com/{{CLAIM_ID}}' };
const send = { id: 'send', type: 'click', selectors: [['#send']], offsetX: 1, offsetY: 1 };

describe('workflows', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const createWorkflow = () => tenant.api.post('/api/workflows', { name: 'EOBs', variables: [] });
  const saveWorkflow = (id: string, body: object) => tenant.api.post(`/api/workflows/${id}/save`, body);

  it('a workflow keeps steps that a run cannot execute, and warns about each by its id', async () => {
    const steps = [
      { id: 's1', type: 'goto', url: 'https://example.com' },
      { id: 's2', type: 'fill', field: 'user' },
      { id: 's3', type: 'swipe', direction: { to: ['left'] }, url: 7 },
      { id: 's4', type: 'extract', selector: '#total', as: 'total' },
      { id: 's5', type: 'constructor' },
      { id: 's6', type: 'fill', field: 'note', value: '{{total}}' },
    ];
    const { body } = await createWorkflow();
    const saved = await saveWorkflow(body.id, { steps });
    expect([saved.status, saved.body.steps]).toEqual([200, steps]);
    expect(saved.body.warnings).toEqual([
      { stepId: 's2', message: 'fill has no value' },
      { stepId: 's3', message: 'a run cannot do a step of the type swipe, and fails at that step' },
      { stepId: 's5', message: 'a run cannot do a step of the type constructor, and fails at that step' },
    ]);
  });

  describe('steps', () => {
    const element = { selectors: [['#a', '.b'], 'aria/Name'] };
    it.each<[object]>([
      [{ type: 'setViewport', width: 800, height: 600, isMobile: true }],
      [{ type: 'emulateNetworkConditions', download: 1, upload: 2.5, latency: 3 }],
      [{ type: 'navigate', url: 'https://example.com', assertedEvents: [{ type: 'navigation' }], title: 't' }],
      [{ type: 'click', ...element, offsetX: 1.5, offsetY: 2, button: 'secondary', target: 'main', frame: [0, 1] }],
      [{ type: 'doubleClick', ...element, deviceType: 'touch', timeout: 500 }],
      [{ type: 'hover', ...element }],
      [{ type: 'change', ...element, value: '' }],
      [{ type: 'change', field: 'claim', value: 'x' }],
      [{ type: 'keyDown', key: 'Enter' }],
      [{ type: 'keyUp', key: 'Enter' }],
      [{ type: 'scroll', x: 1, y: 2 }],
      [{ type: 'scroll', ...element }],
      [
        {
          type: 'waitForElement',
          ...element,
          operator: '==',
          count: 0,
          visible: false,
          attributes: {},
          properties: {},
        },
      ],
      [{ type: 'waitForExpression', expression: '1' }],
      [{ type: 'close' }],
      [{ type: 'goto', url: '{{ PORTAL }}/claims' }],
      [{ type: 'click', text: 'Sign in' }],
      [{ type: 'click', selector: '#go' }],
      [{ type: 'type', field: 'User name', value: '{{USER}}' }],
      [{ type: 'select', selector: 'select', value: 'Delta' }],
      [{ type: 'press', key: 'Control+A' }],
      [{ type: 'upload', selector: '#file', path: 'eobs/1.pdf' }],
      [{ type: 'wait', ms: 250 }],
      [{ type: 'extract', field: 'Total', as: 'total' }],
      [{ type: 'screenshot' }],
      [{ type: 'python', code: 'print(1)' }],
      [{ type: 'customStep', name: 'sign', parameters: {} }],
      [{ type: 'script', code: 'print(1)' }],
      [{ type: 'input', field: 'claim', value: '1', note: 'unknown fields are stored' }],
    ])('a workflow accepts the step %j', async (step) => {
      const { body } = await createWorkflow();
      const saved = await saveWorkflow(body.id, { steps: [{ id: 'it', ...step }] });
      expect([saved.status, saved.body.steps]).toEqual([200, [{ id: 'it', ...step }]]);
    });

    it.each<[object, string, string]>([
      [{ id: 'x' }, 'type', 'step 2 (x): type must be a text'],
      [{ id: 'x', type: '' }, 'type', 'step 2 (x): type must be a text of 1 to 100 characters'],
      [{ id: 'x', type: 'goto' }, 'url', 'step 2 (x): goto needs url'],
      [{ id: 'x', type: 'fill', field: 'a', value: 7 }, 'value', 'step 2 (x): value must be a text'],
      [{ id: 'x', type: 'wait', ms: -1 }, 'ms', 'step 2 (x): ms must be a number of milliseconds up to 86400000'],
      [{ id: 'x', type: 'press' }, 'key', 'step 2 (x): press needs key'],
      [{ id: 'x', type: 'upload', selector: '#a' }, 'path', 'step 2 (x): upload needs path'],
      [{ id: 'x', type: 'python' }, 'code', 'step 2 (x): python needs code'],
      [{ type: 'close' }, 'id', 'step 2: id must be a text of 1 to 200 characters'],
      [{ id: '', type: 'close' }, 'id', 'step 2: id must be a text of 1 to 200 characters'],
      [{ id: 'open', type: 'close' }, 'id', 'step 2 (open): id open is also the id of step 1'],
      [{ id: 'x', type: 'navigate' }, 'url', 'step 2 (x): navigate needs url'],
      [{ id: 'x', type: 'navigate', url: 7 }, 'url', 'step 2 (x): url must be a URL'],
      [
        { id: 'x', type: 'click' },
        'selector',
        'step 2 (x): selector is required if the step has neither field nor text',
      ],
      [
        { id: 'x', type: 'click', selectors: [] },
        'selectors',
        'step 2 (x): selectors must be a list of selectors, each a text or a list of texts',
      ],
      [
        { ...send, id: 'x', button: 'left' },
        'button',
        'step 2 (x): button must be one of primary, auxiliary, secondary, back, forward',
      ],
      [{ id: 'x', type: 'keyDown', key: '' }, 'key', 'step 2 (x): key must be a text that is not empty'],
      [{ id: 'x', type: 'setViewport', width: 0, height: 1 }, 'width', 'step 2 (x): width must be an integer above 0'],
      [
        { id: 'x', type: 'waitForElement', selectors: ['a'], operator: '>' },
        'operator',
        'step 2 (x): operator must be one of >=, ==, <=',
      ],
      [
        { id: 'x', type: 'input' },
        'selector',
        'step 2 (x): selector is required if the step has neither field nor text',
      ],
    ])(
      'a workflow with the step %j is refused with an error that names the step and the field',
      async (step, field, message) => {
        const { body } = await createWorkflow();
        for (const answer of [
          await saveWorkflow(body.id, { steps: [open, step] }),
          await tenant.api.post('/api/workflows', { name: 'n', steps: [open, step] }),
        ]) {
          expect([answer.status, answer.body.errors[0]]).toEqual([400, { field: `steps.1.${field}`, message }]);
        }
        expect((await tenant.api.get(`/api/workflows/${body.id}`)).body.revision).toBe(1);
      },
    );
  });
});
