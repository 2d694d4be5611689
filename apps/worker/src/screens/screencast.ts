import type { ScreenFrame, ScreenInput, ScreenKey } from '@muster/contracts';
import type { Params } from '../browser/chromium';
import { DevToolsSocket } from './dev-tools-socket';

/** Largest width and height of an image in pixels. */
const maxSize = 720;
/** Shortest time between two images, in milliseconds: at most 5 per second. */
const frameMs = 200;
const answerMs = 10_000;
const jpegQuality = 60;

/** Windows key codes, by which pages recognize keys. Enter also types a line break. */
const keyCodes: Record<ScreenKey, { code: number; text?: string }> = {
  Enter: { code: 13, text: '\r' },
  Tab: { code: 9 },
  Escape: { code: 27 },
  Backspace: { code: 8 },
  Delete: { code: 46 },
  ArrowLeft: { code: 37 },
  ArrowRight: { code: 39 },
  ArrowUp: { code: 38 },
  ArrowDown: { code: 40 },
  Home: { code: 36 },
  End: { code: 35 },
  PageUp: { code: 33 },
  PageDown: { code: 34 },
};

/**
 * Blurs password fields, so that an image does not show how long a password is. It runs in an isolated world, in which
 * the page's security policy and scripts have no effect on it.
 */
const blurPasswords = `(() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('input[type=password] { filter: blur(6px) !important; }');
  // The page has the sheet already if somebody watched it before.
  const { cssText } = sheet.cssRules[0];
  if (document.adoptedStyleSheets.some(({ cssRules: [rule] }) => rule?.cssText === cssText)) return;
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
})()`;
const worldName = 'muster-screen';

/**
 * Takes images of the page that a run's browser shows, and sends input to that page. It has a separate connection to
 * the browser, in addition to the connection of the script.
 */
export class Screencast {
  private count = 0;
  private readonly waiting = new Map<number, (answer: Params) => void>();
  /** Tabs of the browser in the order in which they were opened or last used; the last one is shown. */
  private readonly tabs: string[] = [];
  /** Whether the browser still reports the tabs that are open already. */
  private isDiscovering = true;
  private shown: { targetId: string; sessionId: string } | null = null;
  /** Tab that is shown or about to be shown. */
  private requested: string | null = null;
  private attaching: Promise<void> = Promise.resolve();
  private lastFrameAt = 0;

  private constructor(
    private readonly socket: DevToolsSocket,
    private readonly showFrame: (frame: ScreenFrame) => Promise<void>,
  ) {
    socket.on('message', (text) => this.handleMessage(JSON.parse(text) as Params));
    socket.once('close', () => {
      for (const end of this.waiting.values()) end({ error: { message: 'the browser has ended' } });
    });
  }

  /** Starts to take images. `showFrame` is called with each; the next one is taken after it has resolved. */
  static async start(url: URL, showFrame: (frame: ScreenFrame) => Promise<void>): Promise<Screencast> {
    const screencast = new Screencast(await DevToolsSocket.connect(url), showFrame);
    try {
      await screencast.callMethod('Target.setDiscoverTargets', { discover: true, filter: [{ type: 'page' }] });
      screencast.showLastUsedTab(await listTabsByUse(url).catch(() => []));
      return screencast;
    } catch (error) {
      screencast.stop();
      throw error;
    }
  }

  runOnceClosed(work: () => void): void {
    this.socket.once('close', work);
  }

  stop(): void {
    this.socket.close();
  }

  /** Takes an image, even if the page has not changed since the last one. Takes none if the browser shows no page. */
  async captureImage(): Promise<void> {
    await this.attaching;
    if (!this.shown) return;
    await this.callPage('Page.stopScreencast', {});
    await this.startImages();
  }

  async sendInput({ kind, x = 0, y = 0, text = '', key, deltaX = 0, deltaY = 0 }: ScreenInput): Promise<void> {
    await this.attaching;
    const mouse = { x, y, button: 'left', clickCount: 1 };
    if (kind === 'click') {
      await this.callPage('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y });
      await this.callPage('Input.dispatchMouseEvent', { ...mouse, type: 'mousePressed', buttons: 1 });
      await this.callPage('Input.dispatchMouseEvent', { ...mouse, type: 'mouseReleased', buttons: 0 });
    } else if (kind === 'scroll') {
      await this.callPage('Input.dispatchMouseEvent', { type: 'mouseWheel', x, y, deltaX, deltaY });
    } else if (kind === 'type') {
      await this.callPage('Input.insertText', { text });
    } else {
      const { code, text: typed } = keyCodes[key!];
      const press = { key, code: key, windowsVirtualKeyCode: code };
      await this.callPage('Input.dispatchKeyEvent', { ...press, type: typed ? 'keyDown' : 'rawKeyDown', text: typed });
      await this.callPage('Input.dispatchKeyEvent', { ...press, type: 'keyUp' });
    }
  }

  private async callPage(method: string, params: Params): Promise<Params> {
    if (!this.shown) throw new Error('the browser shows no page');
    return this.callMethod(method, params, this.shown.sessionId);
  }

  private async callMethod(method: string, params: Params = {}, sessionId?: string): Promise<Params> {
    const id = (this.count += 1);
    const answer = new Promise<Params>((resolve) => this.waiting.set(id, resolve));
    const timer = setTimeout(() => this.waiting.get(id)?.({ error: { message: 'no answer' } }), answerMs);
    this.socket.send(JSON.stringify({ id, method, params, ...(sessionId ? { sessionId } : {}) }));
    const { error, result } = await answer;
    clearTimeout(timer);
    this.waiting.delete(id);
    if (error) throw new Error(`${method}: ${String(error.message)}`);
    return result as Params;
  }

  private handleMessage(message: Params): void {
    const { id, method, params, sessionId } = message;
    if (typeof id === 'number') return this.waiting.get(id)?.(message);
    if (method === 'Target.targetCreated') {
      this.tabs.push(String(params.targetInfo.targetId));
      if (!this.isDiscovering) this.showLastTab();
    } else if (method === 'Target.targetDestroyed') {
      const at = this.tabs.indexOf(String(params.targetId));
      if (at !== -1) this.tabs.splice(at, 1);
      this.showLastTab();
    } else if (method === 'Page.screencastFrame' && sessionId === this.shown?.sessionId) {
      void this.takeFrame(params as Params, String(sessionId));
    }
  }

  /** The browser reports the tabs that are open already in no order. `byUse` has them, the last used one first. */
  private showLastUsedTab(byUse: string[]): void {
    // A tab that the list does not have was opened after it. It is the newest, like one at the place -1.
    this.tabs.sort((one, other) => byUse.indexOf(other) - byUse.indexOf(one));
    this.isDiscovering = false;
    this.showLastTab();
  }

  private showLastTab(): void {
    const targetId = this.tabs.at(-1);
    if (!targetId || targetId === this.requested) return;
    this.requested = targetId;
    this.attaching = this.attaching.then(() => this.watchTab(targetId)).catch(() => undefined);
  }

  private async watchTab(targetId: string): Promise<void> {
    const before = this.shown;
    const { sessionId } = await this.callMethod('Target.attachToTarget', { targetId, flatten: true });
    this.shown = { targetId, sessionId: String(sessionId) };
    if (before) {
      void this.callMethod('Target.detachFromTarget', { sessionId: before.sessionId }).catch(() => undefined);
    }
    await this.callPage('Page.enable', {});
    await this.callPage('Page.addScriptToEvaluateOnNewDocument', {
      source: blurPasswords,
      worldName,
      runImmediately: true,
    });
    await this.startImages();
  }

  private async startImages(): Promise<void> {
    const size = { maxWidth: maxSize, maxHeight: maxSize };
    await this.callPage('Page.startScreencast', { format: 'jpeg', quality: jpegQuality, ...size });
  }

  /** Passes an image on, and then acknowledges it: the browser takes the next image only after that. */
  private async takeFrame({ data, metadata, sessionId: frameNumber }: Params, sessionId: string): Promise<void> {
    const { deviceWidth: width, deviceHeight: height } = metadata as { deviceWidth: number; deviceHeight: number };
    const waitMs = Math.max(0, this.lastFrameAt + frameMs - performance.now());
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    this.lastFrameAt = performance.now();
    await this.showFrame({ data: String(data), width, height }).catch(() => undefined);
    await this.callMethod('Page.screencastFrameAck', { sessionId: frameNumber }, sessionId).catch(() => undefined);
  }
}

/** Returns the ids of the open tabs, the last used one first. The protocol of the connection has no order of them. */
async function listTabsByUse({ host }: URL): Promise<string[]> {
  const response = await fetch(`http://${host}/json/list`, { signal: AbortSignal.timeout(answerMs) });
  const tabs = (await response.json()) as { id: string }[];
  return tabs.map(({ id }) => id);
}
