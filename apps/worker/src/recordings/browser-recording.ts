import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Chromium, type ChromiumOptions, type Params } from '../browser/chromium';
import { writeAtomically } from '../host/files';
import { Film } from './film';
import { buildPageScript } from './page-script';
import { RecordedSteps } from './recorded-steps';

export interface BrowserRecordingOptions {
  browser: Omit<ChromiumOptions, 'flags'>;
  /** Paths of the files for the video and the events. Without a path, no video is recorded. */
  files: { film: string | null; events: string };
  title: string;
  startUrl: string | null;
}

interface Tab {
  /** Id of the tab's DevTools target, which is also the id of its main frame. */
  targetId: string;
  url: string;
  /** Whether the page itself has requested a navigation. */
  byPage: boolean;
  isReady: Promise<unknown>;
}

/**
 * Time to wait before the recording ends, so that the page script can report a scroll, which it does 150 ms after the
 * scroll.
 */
const settleMs = 250;

/** Records the actions of a person in a browser as steps, and the pages as a video. */
export class BrowserRecording {
  private readonly steps = new RecordedSteps();
  private readonly binding = `watch${randomBytes(8).toString('hex')}`;
  private readonly tabs = new Map<string, Tab>();
  private readonly film: Film | null;
  private main: string | null = null;

  private constructor(
    private readonly browser: Chromium,
    private readonly options: BrowserRecordingOptions,
  ) {
    const { files, browser: browserOptions } = options;
    this.film = files.film === null ? null : Film.recordImages(files.film, browserOptions.env);
    browser.addListener((method, params, sessionId) => this.handleBrowserEvent(method, params, sessionId));
  }

  static async start(options: BrowserRecordingOptions): Promise<BrowserRecording> {
    const { width, height } = Film.size;
    // A headless browser has no window. A person controls it through this port with the DevTools.
    const flags = ['--remote-debugging-port=0', `--window-size=${width},${height}`];
    const recording = new BrowserRecording(await Chromium.launch({ ...options.browser, flags }), options);
    try {
      await recording.beginRecording();
      return recording;
    } catch (error) {
      recording.kill();
      await recording.browser.close();
      throw error;
    }
  }

  /** URL at which programs on this machine reach the browser; null if there is none. */
  get debuggingUrl(): string | null {
    try {
      const [port, path] = readFileSync(join(this.options.browser.folder, 'profile/DevToolsActivePort'), 'utf8').split(
        '\n',
      );
      return `ws://127.0.0.1:${port}${path}`;
    } catch {
      return null;
    }
  }

  async stop(): Promise<{ video: string | null; events: string | null; steps: number; leftOut: number }> {
    await sleep(settleMs);
    await this.browser.close();
    const video = (await this.film?.endFilm()) ?? null;
    const { events } = this.options.files;
    writeAtomically(events, JSON.stringify(this.steps.buildRecording(this.options.title), null, 2));
    return { video, events, steps: this.steps.stepCount, leftOut: this.steps.leftOutCount };
  }

  kill(): void {
    this.film?.kill();
    this.browser.kill();
  }

  private async beginRecording(): Promise<void> {
    await this.film?.waitUntilStarted();
    await this.browser.callMethod('Target.setAutoAttach', {
      autoAttach: true,
      waitForDebuggerOnStart: true,
      flatten: true,
      filter: [{ type: 'page' }],
    });
    const [sessionId, tab] = await this.waitForFirstTab();
    await tab.isReady;
    const expression = '[innerWidth, innerHeight, devicePixelRatio]';
    const { result } = await this.browser.callMethod(
      'Runtime.evaluate',
      { expression, returnByValue: true },
      sessionId,
    );
    const [width, height, scale] = result.value as [number, number, number];
    this.steps.recordViewport(width, height, scale);
    const { startUrl } = this.options;
    if (!startUrl) return;
    const { errorText } = await this.browser.callMethod('Page.navigate', { url: startUrl }, sessionId);
    if (errorText) throw new Error(`${startUrl} could not be opened: ${String(errorText)}`);
  }

  private async waitForFirstTab() {
    for (let left = 200; this.main === null && left > 0; left -= 1) await sleep(50);
    if (this.main === null) throw new Error('the browser has no tab');
    return [this.main, this.tabs.get(this.main)!] as const;
  }

  private handleBrowserEvent(method: string, params: Params, sessionId: string | undefined): void {
    if (method === 'Target.attachedToTarget') return this.handleAttachedTarget(params);
    if (method === 'Target.detachedFromTarget') return void this.tabs.delete(String(params.sessionId));
    const tab = sessionId === undefined ? undefined : this.tabs.get(sessionId);
    if (!tab) return;
    // A recording identifies a tab by its URL, except for the first tab.
    const target = sessionId === this.main ? 'main' : tab.url;
    switch (method) {
      case 'Runtime.bindingCalled':
        if (params.name === this.binding) this.steps.recordPageEvent(String(params.payload), target);
        return;
      case 'Page.frameRequestedNavigation':
        if (params.frameId === tab.targetId) tab.byPage = true;
        return;
      case 'Page.frameStoppedLoading':
        if (params.frameId === tab.targetId) tab.byPage = false;
        return;
      case 'Page.navigatedWithinDocument':
        if (params.frameId === tab.targetId) tab.url = String(params.url);
        return;
      case 'Page.frameNavigated':
        if (!params.frame.parentId) this.recordNavigation(tab, target, String(params.frame.url));
        return;
      case 'Page.screencastFrame': {
        this.film?.showPicture(Buffer.from(String(params.data), 'base64'));
        const ack = this.browser.callMethod('Page.screencastFrameAck', { sessionId: params.sessionId }, sessionId);
        void ack.catch(() => undefined);
      }
    }
  }

  private recordNavigation(tab: Tab, target: string, url: string): void {
    // The first navigation of a tab that a page opened belongs to the step that opened the tab.
    const isOpened = target !== 'main' && !/^https?:/.test(tab.url);
    tab.url = url;
    if (/^https?:|^file:/.test(url) && !isOpened) this.steps.recordNavigation(target, url, tab.byPage);
    tab.byPage = false;
  }

  private handleAttachedTarget({ sessionId, targetInfo }: Params): void {
    const session = String(sessionId);
    this.main ??= session;
    const isReady = this.watchTab(session).catch(() => undefined);
    const { targetId, url } = targetInfo as { targetId: string; url: string };
    this.tabs.set(session, { targetId, url, byPage: false, isReady });
  }

  /** Prepares the recording of a tab. The page of the tab runs only after the preparation. */
  private async watchTab(sessionId: string): Promise<void> {
    const callSession = (method: string, params: Params = {}) => this.browser.callMethod(method, params, sessionId);
    const worldName = 'recording';
    const { width, height } = Film.size;
    await Promise.all([
      callSession('Page.enable'),
      callSession('Runtime.enable'),
      callSession('Runtime.addBinding', { name: this.binding, executionContextName: worldName }),
      callSession('Page.addScriptToEvaluateOnNewDocument', {
        source: buildPageScript(this.binding),
        worldName,
        runImmediately: true,
      }),
      this.film &&
        callSession('Page.startScreencast', { format: 'jpeg', quality: 70, maxWidth: width, maxHeight: height }),
      callSession('Runtime.runIfWaitingForDebugger'),
    ]);
  }
}
