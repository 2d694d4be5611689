import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ScreenFrame, ScreenFrameTaken, ScreenInput, ScreenWatch } from '@muster/contracts';
import { readJson } from '../host/files';
import type { LocalLog } from '../host/local-log';
import { waitUnlessAborted } from '../host/waiting';
import { computeBackoffMs } from '../protocol/backoff';
import { getErrorMessage, classifyStatus, serializeBody, type Service } from '../protocol/service';
import { Screencast } from './screencast';

/** File in which the script's runtime writes how to connect to its browser. */
export const browserFile = 'browser.json';
/** Time after which a browser that has ended is searched for again, because the script may have started another one. */
const retryMs = 1000;

interface ScreenContext {
  service: Service;
  log: LocalLog;
  /** Whether the run asks a question that lets people use its browser. */
  allowsInput: () => boolean;
}

/**
 * Sends images of the browser of a run while somebody watches, over the worker's own connection to the service. A run
 * without a browser needs no connection.
 */
export class RunScreen {
  private readonly over = new AbortController();
  private isFollowed = false;
  private isWatched = false;
  private screencast: Promise<Screencast> | null = null;
  private retry: NodeJS.Timeout | undefined;
  /** Inputs are sent one after the other: a click consists of several messages to the browser. */
  private inputs: Promise<void> = Promise.resolve();

  constructor(
    private readonly root: string,
    private readonly jobId: string,
    private readonly context: ScreenContext,
  ) {}

  /** Starts to listen for people who watch, as soon as the run has a browser. */
  findBrowser(): void {
    if (this.isFollowed || !existsSync(join(this.root, browserFile))) return;
    this.isFollowed = true;
    this.followWatchers().catch((error: unknown) => this.logFailure('cannot show the browser of the run', error));
  }

  stop(): void {
    this.over.abort();
    this.setWatched(false);
  }

  /** Keeps the stream of watchers open until the run ends or the service refuses it. */
  private async followWatchers(): Promise<void> {
    const { signal } = this.over;
    const path = `/api/jobs/${this.jobId}/screen/control`;
    let failures = 0;
    while (!signal.aborted) {
      const status = await this.context.service
        .followEvents(path, { until: signal, onEvent: (event, data) => this.handleEvent(event, data) })
        .catch(() => null);
      this.setWatched(false);
      // A service of an older version does not have the route, and one that knows that the run has ended refuses it.
      if (status !== null && classifyStatus(status) === 'refused') return;
      failures = status === 200 ? 1 : failures + 1;
      await waitUnlessAborted(computeBackoffMs(failures), signal);
    }
  }

  private handleEvent(event: string, data: unknown): void {
    if (event === 'watch') this.setWatched((data as ScreenWatch).watched);
    if (event === 'input') this.inputs = this.inputs.then(() => this.takeInput(data as ScreenInput));
  }

  private async takeInput(input: ScreenInput): Promise<void> {
    // The service has checked too that the question is open, but the question may have ended since.
    if (!this.context.allowsInput()) return;
    try {
      await (await this.openScreencast()).sendInput(input);
    } catch (error) {
      this.logFailure('the browser of the run did not accept an input of a person', error);
    }
  }

  private setWatched(watched: boolean): void {
    this.isWatched = watched;
    clearTimeout(this.retry);
    if (watched) {
      // Another person may have started to watch, who needs an image even if the page does not change.
      const opened: Promise<unknown> = this.screencast?.then((open) => open.captureImage()) ?? this.openScreencast();
      opened.catch((error: unknown) => this.logFailure('could not show the browser of the run', error));
      return;
    }
    this.screencast?.then(
      (open) => open.stop(),
      () => undefined,
    );
    this.screencast = null;
  }

  private openScreencast(): Promise<Screencast> {
    if (this.screencast) return this.screencast;
    const opening = connectToBrowser(this.root, (frame) => this.sendFrame(frame));
    this.screencast = opening;
    const forgetScreencast = () => {
      if (this.screencast !== opening) return;
      this.screencast = null;
      if (this.isWatched) this.retry = setTimeout(() => this.setWatched(this.isWatched), retryMs);
    };
    opening.then((open) => open.runOnceClosed(forgetScreencast), forgetScreencast);
    return opening;
  }

  private async sendFrame(frame: ScreenFrame): Promise<void> {
    const path = `/api/jobs/${this.jobId}/screen/frames`;
    const text = serializeBody<ScreenFrame>(frame);
    const { status, body } = await this.context.service.callService<ScreenFrameTaken>({
      ...{ method: 'POST', path, text, timeoutMs: 5000, until: this.over.signal },
    });
    if (classifyStatus(status) === 'delivered' && body.watched === false) this.setWatched(false);
  }

  private logFailure(message: string, error: unknown): void {
    if (!this.over.signal.aborted) {
      this.context.log('warn', message, { jobId: this.jobId, why: getErrorMessage(error) });
    }
  }
}

/** Connects to the run's browser. Throws unless the browser is on this machine. */
async function connectToBrowser(root: string, showFrame: (frame: ScreenFrame) => Promise<void>): Promise<Screencast> {
  const { cdp } = readJson<{ cdp?: unknown }>(join(root, browserFile)) ?? {};
  const url = new URL(String(cdp));
  if (url.protocol !== 'ws:' || !['127.0.0.1', 'localhost'].includes(url.hostname)) {
    throw new Error('the browser of the run is not on this machine');
  }
  return Screencast.start(url, showFrame);
}
