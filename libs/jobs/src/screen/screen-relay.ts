import type { ScreenFrame, ScreenInput } from '@muster/contracts';
import type { Relay } from '@muster/platform';
import { isSealedText, type KeyRing, openText, sealText } from '@muster/vault';

/** Maximum number of images per second, from a worker and to each person who watches. */
const maxFramesPerSecond = 5;
/** Seconds after which a run counts as not watched, unless a person who watches renews the mark. */
const watchedSeconds = 10;
/** Interval at which the mark is renewed; well below `watchedSeconds`, so that one lost renewal does no harm. */
export const renewWatchMs = 3000;

/** A message to the process that holds the worker's stream. Input is sealed, because Redis may log what it passes. */
type ControlMessage = { kind: 'watch' } | { kind: 'input'; sealed: object };

interface ScreenListeners {
  /** Called when a person starts to watch the run's screen. */
  watch: () => void;
  input: (input: ScreenInput) => void;
}

/** The browser screens of runs, passed between the processes of workers and of people. Nothing of them is stored. */
export class ScreenRelay {
  constructor(
    private readonly relay: Relay,
    private readonly keyRing: KeyRing,
  ) {}

  /** Marks the run as watched, and asks its worker for an image, even if somebody watches already. */
  async startWatching(jobId: string): Promise<void> {
    await this.renewWatch(jobId);
    await this.relay.sendPayload(
      buildControlChannelName(jobId),
      JSON.stringify({ kind: 'watch' } satisfies ControlMessage),
    );
  }

  /** Marks the run as watched. Must be called again every `renewWatchMs`. */
  renewWatch(jobId: string): Promise<void> {
    return this.relay.setSharedMark(buildWatchMarkName(jobId), watchedSeconds);
  }

  isWatched(jobId: string): Promise<boolean> {
    return this.relay.hasMark(buildWatchMarkName(jobId));
  }

  async sendFrame(jobId: string, { data, width, height }: ScreenFrame): Promise<void> {
    await this.relay.sendPayload(buildFramesChannelName(jobId), JSON.stringify({ data, width, height }));
  }

  listenForFrames(jobId: string, listener: (frame: ScreenFrame) => void): () => void {
    return this.relay.listen(buildFramesChannelName(jobId), (payload) => listener(JSON.parse(payload) as ScreenFrame));
  }

  /** Sends input to the run's worker. Returns false if the worker is not connected. */
  async sendInput(jobId: string, input: ScreenInput): Promise<boolean> {
    const sealed = sealText(this.keyRing, buildInputAssociatedData(jobId), JSON.stringify(input));
    const message: ControlMessage = { kind: 'input', sealed };
    return (await this.relay.sendPayload(buildControlChannelName(jobId), JSON.stringify(message))) > 0;
  }

  listenForControl(jobId: string, { watch, input }: ScreenListeners): () => void {
    return this.relay.listen(buildControlChannelName(jobId), (payload) => {
      const message = JSON.parse(payload) as ControlMessage;
      if (message.kind === 'watch') return watch();
      if (!isSealedText(message.sealed)) return;
      input(JSON.parse(openText(this.keyRing, buildInputAssociatedData(jobId), message.sealed)) as ScreenInput);
    });
  }
}

/** Limits the images of one run to `maxFramesPerSecond`, in any second. */
export class FrameLimit {
  private readonly times: number[] = [];

  /** Whether another image may pass at this time, in milliseconds. */
  mayPassFrame(now: number): boolean {
    const oldest = this.times.at(-maxFramesPerSecond);
    if (oldest !== undefined && now - oldest < 1000) return false;
    this.times.push(now);
    if (this.times.length > maxFramesPerSecond) this.times.shift();
    return true;
  }
}

function buildWatchMarkName(jobId: string): string {
  return `screen-watched:${jobId}`;
}
function buildFramesChannelName(jobId: string): string {
  return `screen-frames:${jobId}`;
}
function buildControlChannelName(jobId: string): string {
  return `screen-control:${jobId}`;
}
function buildInputAssociatedData(jobId: string): string {
  return `screen-input/${jobId}`;
}
