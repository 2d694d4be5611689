// This test is long because it plays recordings in a real browser.
// A short test of the same code: libs/workflows/src/recordings/read-recording.spec.ts
import { readRecording } from './read-recording';
import { findChromium, servePages, type PlayedScript, runScript, type Portal } from './recorded-flow.harness';
import { writeScript } from './write-script';

const pages = {
  '/sign-in': `
    <form action="/claims"><label for="user">User name</label><input id="user" name="user" value="old">
    <input type="password" name="secret"><button>Sign in</button></form>`,
  '/claims': `
    <style>#menu { display: none } nav:hover #menu { display: block } #far { margin-top: 3000px }</style>
    <nav style="width: 200px">Menu <a id="menu" href="#">Reports</a></nav>
    <input id="claim"><select id="payer"><option value="">-</option><option value="delta">Delta</option></select>
    <textarea id="note"></textarea><input type="date" id="day"><input type="checkbox" id="urgent">
    <div id="editable" contenteditable>old words</div>
    <button ondblclick="log.push('double')">Twice</button>
    <button id="ask" onclick="log.push(confirm('Sure?') ? 'sure' : 'not')">Ask</button>
    <div id="pad" style="width: 100px; height: 50px" onclick="log.push(event.offsetX + ',' + event.offsetY)"></div>
    <x-box></x-box>
    <iframe src="/frame"></iframe>
    <a id="help" href="/help" target="_blank">Help</a>
    <ul id="list"></ul>
    <div id="box" style="height: 50px; overflow: auto"><div style="height: 500px"></div></div>
    <p id="far">the end</p>
    <script>
      const log = [];
      customElements.define('x-box', class extends HTMLElement {
        constructor() {
          super();
          this.attachShadow({ mode: 'open' }).innerHTML =
            '<button class="inner" onclick="log.push(\\'pierced\\')">Inside</button><span class="deep">Deep text</span>';
          this.shadowRoot.querySelector('.deep').onclick = () => log.push('deep');
        }
      });
      for (const [at, name] of ['one', 'two', 'three'].entries()) {
        setTimeout(() => list.insertAdjacentHTML('beforeend', '<li class="row" data-n="' + at + '">' + name + '</li>'), 200 * at);
      }
      document.querySelector('nav').onmouseenter = () => log.push('hovered');
      for (const name of ['keydown', 'keyup']) {
        document.addEventListener(name, (event) => log.push(name + ':' + (event.ctrlKey ? 'Control+' : '') + event.key));
      }
      claim.addEventListener('change', () => log.push('changed'));
      const send = () => {
        const frame = document.querySelector('iframe').contentDocument;
        location.href = '/sent?' + new URLSearchParams({
          claim: claim.value, payer: payer.value, note: note.value, day: day.value, urgent: urgent.checked,
          editable: editable.textContent, log: log.join(' '), framed: frame.querySelector('input').value,
          y: Math.round(scrollY), box: box.scrollTop, width: innerWidth, touch: navigator.maxTouchPoints,
        });
      };
    </script>
    <button id="send" onclick="setTimeout(send, 300)">Send</button>`,
  '/frame': '<input id="framed"><button onclick="framed.value += \'!\'">Mark</button>',
  '/help': '<h1>Help</h1><button onclick="document.title = \'read\'">Read</button>',
  '/sent': '<h1>Thank you</h1>',
  '/last': `<button onclick="setTimeout(() => fetch('/sent?claim=last'), 200)">Save</button>`,
};

const chromium = findChromium();
const itPlays = chromium ? it : it.skip;
const skipped = chromium ? '' : ' (skipped: no Chromium here; put one on PATH, or name it in CHROMIUM)';

describe(`The script of a recording${skipped}`, () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await servePages(pages);
  });
  afterAll(() => portal.close());

  const recordAndRunScript = async (
    steps: object[],
    env: Record<string, string> = {},
    flow: object = {},
  ): Promise<PlayedScript> => {
    const recording = await readRecording(Buffer.from(JSON.stringify({ title: 'Flow', steps, ...flow })));
    const { timeoutMs } = recording;
    const script = writeScript({ name: recording.title, steps: recording.steps, timeoutMs });
    return runScript(script, { CHROMIUM: chromium!, ...env });
  };
  const navigation = { assertedEvents: [{ type: 'navigation', url: '', title: '' }] };

  itPlays('the script of a recording does not end before the requests of its last step have arrived', async () => {
    const steps = [
      { type: 'navigate', url: `${portal.url}/last` },
      { type: 'click', offsetX: 2, offsetY: 2, selectors: [['text/Save']] },
    ];
    expect((await recordAndRunScript(steps)).code).toBe(0);
    expect(portal.received.splice(0)).toEqual([{ claim: 'last' }]);
  });

  itPlays('the script of a recording repeats each type of step that the recorder writes', async () => {
    const at = { offsetX: 5, offsetY: 5 };
    const steps = [
      {
        type: 'setViewport',
        width: 900,
        height: 700,
        deviceScaleFactor: 1,
        isMobile: false,
        hasTouch: false,
        isLandscape: false,
      },
      { type: 'emulateNetworkConditions', download: 1_000_000, upload: 1_000_000, latency: 5 },
      { type: 'navigate', url: '{{PORTAL}}/sign-in', assertedEvents: [{ type: 'navigation' }] },
      // Selectors are tried in the recorder's order; the first of these fit nothing.
      { type: 'change', value: 'dana', selectors: ['#nothing', 'bad(', ['aria/User name[role="textbox"]'], ['#user']] },
      { type: 'change', value: '{{ PASSWORD }}', selectors: [['xpath//html/body/form/input[2]']] },
      { type: 'click', ...at, selectors: [['text/Sign in']], ...navigation },
      { type: 'waitForElement', selectors: ['.row'], operator: '==', count: 3 },
      {
        type: 'waitForElement',
        selectors: ['.row'],
        count: 1,
        attributes: { 'data-n': '2' },
        properties: { textContent: 'three' },
      },
      { type: 'waitForElement', selectors: ['#menu'], visible: false },
      { type: 'hover', selectors: [['nav']] },
      { type: 'waitForElement', selectors: ['#menu'] },
      { type: 'change', value: 'C-{{CLAIM_ID}} "ü€😀"', selectors: [['#claim']] },
      { type: 'change', value: 'delta', selectors: [['#payer']] },
      { type: 'change', value: 'line one\nline two', selectors: [['pierce/#note']] },
      { type: 'change', value: '2026-03-01', selectors: [['#day']] },
      { type: 'change', value: 'new words', selectors: [['#editable']] },
      { type: 'click', ...at, selectors: [['aria/[role="checkbox"]']] },
      { type: 'doubleClick', ...at, selectors: [['aria/Twice'], ['button']] },
      { type: 'click', ...at, selectors: [['#ask']] },
      { type: 'click', offsetX: 70, offsetY: 40, duration: 50, selectors: [['#pad']] },
      { type: 'click', ...at, selectors: [['pierce/.inner']] },
      { type: 'click', ...at, selectors: [['x-box', '.deep']] },
      { type: 'change', value: 'inside', frame: [0], selectors: [['#framed']] },
      { type: 'click', ...at, frame: [0], selectors: [['text/Mark']] },
      { type: 'waitForExpression', expression: 'framed.value === "inside!"', frame: [0] },
      { type: 'click', ...at, selectors: [['#help']] },
      { type: 'click', target: `${portal.url}/help`, ...at, selectors: [['text/Read']] },
      { type: 'waitForExpression', target: `${portal.url}/help`, expression: 'document.title === "read"' },
      { type: 'close', target: `${portal.url}/help` },
      { type: 'keyDown', key: 'Control' },
      { type: 'keyDown', key: 'b' },
      { type: 'keyUp', key: 'b' },
      { type: 'keyUp', key: 'Control' },
      { type: 'scroll', selectors: [['#box']], x: 0, y: 40 },
      { type: 'scroll', x: 0, y: 120 },
      { type: 'waitForExpression', expression: 'new Promise((done) => setTimeout(() => done(scrollY === 120), 50))' },
      { type: 'click', ...at, selectors: [['#send']], ...navigation },
      { type: 'waitForElement', selectors: [['text/Thank you']] },
    ];
    const played = await recordAndRunScript(steps, { PORTAL: portal.url, PASSWORD: 'hunter2', CLAIM_ID: '1042' });
    expect([played.code, played.stderr]).toEqual([0, '']);
    const log = [
      ...['hovered', 'changed', 'double', 'sure', '70,40', 'pierced', 'deep'],
      ...['keydown:Control+Control', 'keydown:Control+b', 'keyup:Control+b', 'keyup:Control'],
    ];
    expect(portal.received).toEqual([
      {
        claim: 'C-1042 "ü€😀"',
        payer: 'delta',
        note: 'line one\nline two',
        day: '2026-03-01',
        urgent: 'true',
        editable: 'new words',
        framed: 'inside!',
        log: log.join(' '),
        y: expect.any(String),
        box: '40',
        width: '900',
        touch: '0',
      },
    ]);
    const started = played.events.filter(({ type }) => type === 'step_started');
    expect(started.map(({ stepId }) => stepId)).toEqual(steps.map((_, n) => `step-${n + 1}`));
    expect(started.slice(2, 7).map(({ name }) => name)).toEqual([
      'Open {{PORTAL}}/sign-in',
      'Fill in “User name”',
      'Fill in xpath//html/body/form/input[2]',
      'Click “Sign in”',
      'Wait for .row',
    ]);
    const finished = played.events.filter(({ type }) => type === 'step_finished');
    expect(finished.map(({ status }) => status)).toEqual(steps.map(() => 'passed'));
    expect(JSON.stringify(played.events)).not.toContain('hunter2');
    expect(played.leftovers).toEqual([]);
  });

  itPlays(
    'the script of a recording fails at a step that cannot be done, uploads a screenshot, and leaves no files',
    async () => {
      const played = await recordAndRunScript([
        { type: 'navigate', url: `${portal.url}/help` },
        { type: 'click', offsetX: 1, offsetY: 1, selectors: [['#gone'], ['aria/Gone']], timeout: 700 },
        { type: 'click', offsetX: 1, offsetY: 1, selectors: [['button']] },
      ]);
      expect(played.code).toBe(1);
      const finished = played.events.filter(({ type }) => type === 'step_finished');
      expect(finished.map(({ status, error }) => [status, error])).toEqual([
        ['passed', undefined],
        ['failed', 'TimeoutError: no element matches #gone or aria/Gone within 0.7 s'],
      ]);
      expect(Object.keys(played.uploads)).toEqual(['failed-step-2.png']);
      expect(played.uploads['failed-step-2.png']!.toString('latin1', 1, 4)).toBe('PNG');
      expect(played.events.find(({ type }) => type === 'upload')).toMatchObject({ screenshot: true });
      expect(played.leftovers).toEqual([]);
    },
  );

  itPlays.each([
    [
      'a variable that the run does not have',
      { type: 'navigate', url: '{{NOWHERE}}/' },
      'the run has no variable NOWHERE',
    ],
    [
      'a page that cannot be reached',
      { type: 'navigate', url: 'http://127.0.0.1:1/' },
      'could not be opened: net::ERR',
    ],
    ['an expression that stays false', { type: 'waitForExpression', expression: '1 > 2' }, '1 > 2 was not true'],
    [
      'a tab that does not exist',
      { type: 'close', target: 'https://elsewhere.example/' },
      'no tab shows https://elsewhere',
    ],
    [
      'a step of an extension',
      { type: 'customStep', name: 'sign', parameters: { a: [true, null] } },
      'write in custom()',
    ],
  ])('the script of a recording reports %s', async (_, step, message) => {
    const played = await recordAndRunScript([step], {}, { timeout: 600 });
    expect(played.code).toBe(1);
    expect(played.events.find(({ type }) => type === 'step_finished')!.error).toContain(message);
  });

  it('the script of a recording reports a missing browser', async () => {
    const recording = await readRecording(Buffer.from('{"title":"x","steps":[{"type":"close"}]}'));
    const script = writeScript({ name: 'x', steps: recording.steps, timeoutMs: null });
    const played = await runScript(script, { CHROMIUM: '/nowhere/chromium' });
    expect(played.code).toBe(1);
    expect(played.stderr).toContain('no browser was found: install Chromium, or set CHROMIUM to the path of a browser');
  });
});
