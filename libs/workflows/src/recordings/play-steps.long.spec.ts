// This test is long because it plays every kind of step in a real browser.
// A short test of the same code: libs/workflows/src/recordings/read-recording.spec.ts
import { findChromium, servePages, type PlayedScript, runScript, type Portal } from './recorded-flow.harness';
import { writePlayFunction } from './write-script';

const pages = {
  '/sign-in': `
    <h1>Welcome</h1><p>Sign in to see your claims</p>
    <form action="/claims"><label>User name: <input name="user"></label>
    <label for="pass">Password *</label><input type="password" id="pass" name="secret">
    <input name="office" placeholder="Office code"><input aria-label="Second factor" name="f2" onkeydown="if (event.key.length === 1) f2.value += event.key">
    <button>Sign in</button></form><script>const f2 = document.querySelector('[name=f2]')</script>`,
  '/claims': `
    <h1>Claims of <b id="who"></b></h1>
    <label for="payer">Payer</label><select id="payer"><option value="">-</option><option value="d1">Delta Dental</option></select>
    <label><input type="checkbox" id="urgent" style="opacity: 0; width: 0; height: 0"> Urgent</label>
    <label for="file">Attachment</label><input type="file" id="file" style="display: none">
    <table><tr><td class="amount">120.50</td></tr></table><div id="claim-C7" onclick="this.textContent = 'opened'">C7</div>
    <div id="far" style="margin-top: 3000px" onclick="this.textContent = 'seen ' + Math.sign(scrollY)">the end</div>
    <iframe src="/frame"></iframe>
    <script>
      who.textContent = new URLSearchParams(location.search).get('user');
      setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<p class="late">loaded</p>'), 400);
      const send = () => {
        const [chosen] = file.files;
        const done = (text) => location.href = '/sent?' + new URLSearchParams({
          query: location.search, payer: payer.value, urgent: urgent.checked, file: chosen ? chosen.name + '=' + text : '',
          framed: document.querySelector('iframe').contentDocument.querySelector('input').value,
        });
        if (chosen) chosen.text().then(done); else done('');
      };
    </script>
    <a href="javascript:send()">Send all</a>`,
  '/frame': "<label>Note <input></label><button onclick=\"document.querySelector('input').value += '!'\">Mark</button>",
  '/sent': '<h1>Thank you</h1>',
};

const chromium = findChromium();
const itPlays = chromium ? it : it.skip;
const skipped = chromium ? '' : ' (skipped: no Chromium here; put one on PATH, or name it in CHROMIUM)';

describe(`The steps of a workflow without a script${skipped}`, () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await servePages(pages);
  });
  afterAll(() => portal.close());
  beforeEach(() => portal.received.splice(0));

  const addStepIds = (steps: object[]) => steps.map((step, at) => ({ id: `s${at + 1}`, ...step }));
  const playSteps = (steps: object[], env: Record<string, string> = {}): Promise<PlayedScript> =>
    runScript(writePlayFunction({ name: 'By hand', steps: addStepIds(steps) }), {
      CHROMIUM: chromium!,
      PORTAL: portal.url,
      ...env,
    });
  const ofType = ({ events }: PlayedScript, type: string) => events.filter((event) => event['type'] === type);
  const listStepStatuses = (played: PlayedScript) => ofType(played, 'step_finished').map(({ status }) => status);
  const resultOf = (played: PlayedScript) => ofType(played, 'result').at(-1)?.['value'].of;

  itPlays('steps without a script go to a page, fill, choose, tick, press, upload, wait, read, and send', async () => {
    const played = await playSteps(
      [
        { type: 'python', code: '  open("eob.txt", "w").write("bytes")\n  muster.result({"made": 1})' },
        { type: 'goto', url: '{{ PORTAL }}/sign-in' },
        { type: 'fill', field: 'User name', value: '{{USER}}' },
        { type: 'type', field: 'password', value: '{{SECRET}}' },
        { type: 'change', field: 'Office code', value: '17' },
        { type: 'press', field: 'Second factor', key: '4' },
        { type: 'press', key: 'Backspace' },
        { type: 'press', field: 'Second factor', key: 'Shift+A' },
        { type: 'press', key: 'Enter' },
        { type: 'extract', selector: '#who', as: 'who' },
        { type: 'select', field: 'Payer', value: 'Delta Dental' },
        { type: 'fill', field: 'Urgent', value: 'true' },
        { type: 'upload', field: 'Attachment', path: 'eob.txt' },
        { type: 'waitForElement', selector: '.late' },
        { type: 'waitForExpression', expression: 'document.querySelector("#who").textContent === "{{who}}"' },
        { type: 'extract', selector: '//td[@class="amount"]', as: 'amount' },
        { type: 'fill', frame: [0], field: 'Note', value: '{{who}} owes {{amount}}' },
        { type: 'click', frame: [0], text: 'Mark' },
        { type: 'scroll', selector: '#far' },
        { type: 'click', text: 'the end' },
        { type: 'extract', selector: '#far', as: 'far' },
        { type: 'click', selector: '#claim-{{CLAIM}}' },
        { type: 'extract', selector: '#claim-{{CLAIM}}' },
        { type: 'wait', ms: 5 },
        { type: 'screenshot', name: 'all of it' },
        { type: 'python', code: 'muster.result({"double": float(results["amount"]) * 2})' },
        { type: 'click', text: 'send all' },
        { type: 'extract', selector: 'h1', as: 'end' },
      ],
      { USER: 'dana', SECRET: 'hunter2', CLAIM: 'C7' },
    );
    expect([played.code, played.stderr]).toEqual([0, '']);
    expect(listStepStatuses(played)).toEqual(Array(28).fill('passed'));
    expect(ofType(played, 'step_started').map(({ stepId }) => stepId)).toEqual(
      Array.from({ length: 28 }, (_, at) => `s${at + 1}`),
    );
    expect(JSON.stringify(ofType(played, 'step_started'))).not.toMatch(/hunter2|dana/);
    expect(portal.received).toEqual([
      {
        query: '?user=dana&secret=hunter2&office=17&f2=4AA',
        payer: 'd1',
        urgent: 'true',
        file: 'eob.txt=bytes',
        framed: 'dana owes 120.50!',
      },
    ]);
    expect(resultOf(played)).toEqual({
      made: 1,
      who: 'dana',
      amount: '120.50',
      far: 'seen 1',
      s23: 'opened',
      double: 241,
      end: 'Thank you',
    });
    expect(Object.keys(played.uploads)).toEqual(['all_of_it.png']);
    expect(played.uploads['all_of_it.png']!.subarray(1, 4).toString()).toBe('PNG');
    expect(played.leftovers).toEqual([]);
  });

  itPlays.each<[object, RegExp]>([
    [{ type: 'click', selector: '#nothing', timeout: 300 }, /no element matches #nothing within 0.3 s/],
    [{ type: 'fill', field: 'No such field', value: 'x', timeout: 300 }, /no element matches field\/No such field/],
    [{ type: 'click', text: 'No such words', timeout: 300 }, /no element matches says\/No such words/],
    [{ type: 'select', field: 'Payer', value: 'Nobody', timeout: 300 }, /there is no choice 'Nobody'/],
    [{ type: 'fill', field: 'Urgent', value: 'perhaps' }, /a checkbox is true or false/],
    [{ type: 'fill', field: 'Payer' }, /the step has no value/],
    [{ type: 'press', key: 'Ctrl+Hyper' }, /there is no key Hyper/],
    [{ type: 'upload', field: 'Attachment', path: '../outside' }, /is outside of the run root/],
    [{ type: 'extract', selector: '{{UNKNOWN}}', as: 'x' }, /the run has no variable UNKNOWN/],
    [{ type: 'python', code: 'x = 1\nx.nothing' }, /AttributeError/],
  ])('a run of steps fails at %j with a screenshot and the reason, and stops there', async (step, reason) => {
    const open = { type: 'goto', url: '{{PORTAL}}/claims?user=x' };
    const played = await playSteps([open, step, { type: 'click', text: 'Send all' }]);
    expect(listStepStatuses(played)).toEqual(['passed', 'failed']);
    expect(ofType(played, 'step_finished').at(-1)!['error']).toMatch(reason);
    expect(played.code).toBe(1);
    expect(Object.keys(played.uploads)).toEqual(['failed-s2.png']);
    expect(portal.received).toEqual([]);
  });

  itPlays('a run of steps fails at an unreachable address', async () => {
    const played = await playSteps([
      { type: 'goto', url: 'http://127.0.0.1:1/' },
      { type: 'wait', ms: 0 },
    ]);
    expect(listStepStatuses(played)).toEqual(['failed']);
    expect(ofType(played, 'step_finished')[0]!['error']).toMatch(/could not be opened: net::ERR_/);
  });

  itPlays('a step finds a field by its whole label before its name, and never a hidden field', async () => {
    const form = `data:text/html,<input type=hidden name=id value=h><label>Name<input id=b></label>
      <input name=name id=a><label>Name of the payer<input id=c></label><label>Zip code<input id=d></label>`;
    const fills = ['name', 'Zip', 'id'].map((field) => ({ type: 'fill', field, value: field, timeout: 500 }));
    const read = ['a', 'b', 'c', 'd'].map((id) => ({ type: 'extract', selector: `#${id}`, as: id }));
    const played = await playSteps([
      { type: 'goto', url: form.replace(/\s+/g, ' ').replaceAll(' ', '%20') },
      ...fills.slice(0, 2),
      ...read,
    ]);
    expect(resultOf(played)).toEqual({ a: '', b: 'name', c: '', d: 'Zip' });
    expect((await playSteps([{ type: 'goto', url: form.replace(/\s+/g, '%20') }, fills[2]!])).code).toBe(1);
  });

  it('steps that need no browser run without one, and a step that a run cannot do fails as unsupported', async () => {
    const steps = [
      { type: 'python', code: 'n = 20' },
      { type: 'wait', ms: 1 },
      { type: 'script', code: 'muster.result({"n": n + 1})' },
      { type: 'swipe', direction: 'left' },
      { type: 'python', code: 'muster.result({"n": "never"})' },
    ];
    const played = await playSteps(steps, { CHROMIUM: '/nowhere' });
    expect(listStepStatuses(played)).toEqual(['passed', 'passed', 'passed', 'failed']);
    expect(resultOf(played)).toEqual({ n: 21 });
    // The first step that needs a browser reports what is missing.
    const lacking = await playSteps([steps[0]!, { type: 'goto', url: 'about:blank' }], { CHROMIUM: '/nowhere' });
    expect(listStepStatuses(lacking)).toEqual(['passed', 'failed']);
    expect(lacking.stderr).toContain('no browser was found');
    expect(ofType(played, 'error_code')).toEqual([expect.objectContaining({ code: 'unsupported_step' })]);
    expect(ofType(played, 'step_finished').at(-1)!['error']).toContain('a run cannot do a step of the type swipe');
    expect(played.code).toBe(1);
  });
});
