import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { noBrowser, type Extensions } from '../browser/extensions';
import { findBrowser, findProgram } from '../browser/find-browser';
import { toStringOrEmpty, type Command, type Result } from '../protocol/command';
import { getErrorMessage, type Service } from '../protocol/service';
import { closeTemporaryFolder } from '../host/short-folder';
import { uploadFile } from '../protocol/upload';
import { BrowserRecording } from './browser-recording';
import { Film } from './film';

export interface RecorderOptions {
  folder: string;
  agentId: string;
  /** Environment variables, such as PATH and DISPLAY. */
  base: Record<string, string>;
  service: Service;
  extensions: Extensions;
}

type Kind = 'screen' | 'browser';
interface RecordedFiles {
  video: string | null;
  events: string | null;
  more: Record<string, unknown>;
}
interface ActiveRecording {
  kind: Kind;
  folder: string;
  stop: () => Promise<RecordedFiles>;
  kill: () => void;
}

const noScreen: Result = {
  status: 'failed',
  code: 'screen_unavailable',
  error: 'the screen of this machine cannot be recorded: it needs a display and ffmpeg',
};

/** Records the screen with ffmpeg, or a separate browser with the person's actions. */
export class Recorder {
  private readonly recordings = new Map<string, ActiveRecording>();
  /** Ids of stopped recordings. A start command that arrives after its stop command starts nothing. */
  private readonly stopped = new Set<string>();

  constructor(private readonly options: RecorderOptions) {
    // Recordings of a killed worker cannot be continued, so their files are removed.
    const folder = join(options.folder, 'recordings');
    for (const name of existsSync(folder) ? readdirSync(folder) : [])
      closeTemporaryFolder(join(folder, name, 'browser'));
    rmSync(folder, { recursive: true, force: true });
  }

  async performCommand({ kind, payload }: Command): Promise<Result> {
    const requested = toStringOrEmpty(payload.recordingId);
    const recordingId = /^[A-Za-z0-9][\w-]{0,99}$/.test(requested) ? requested : randomUUID();
    if (kind === 'start_recording') return this.startRecording(recordingId, payload);
    if (kind === 'stop_recording') this.stopped.add(recordingId);
    const active = this.recordings.get(recordingId);
    if (!active) return { status: 'failed', error: 'this worker has no such recording' };
    if (kind === 'attach_recording') return { status: 'success', output: { recordingId, recording: true } };
    return this.stopRecording(recordingId, active);
  }

  /** Kills all recordings. Their files are useless without the worker, which would send them. */
  close(): void {
    for (const { kill } of this.recordings.values()) kill();
  }

  private async startRecording(recordingId: string, payload: Record<string, unknown>): Promise<Result> {
    if (this.recordings.has(recordingId)) return { status: 'success', output: { recordingId, recording: true } };
    if (this.stopped.has(recordingId))
      return { status: 'failed', error: 'the recording was stopped before it started' };
    const kind = this.chooseKind(payload);
    const folder = join(this.options.folder, 'recordings', recordingId);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    try {
      const started = await (kind === 'screen' ? this.recordScreen(folder) : this.recordBrowser(folder, payload));
      if ('status' in started) return started;
      this.recordings.set(recordingId, started.active);
      return { status: 'success', output: { recordingId, recording: true, kind, ...started.more } };
    } finally {
      if (!this.recordings.has(recordingId)) rmSync(folder, { recursive: true, force: true });
    }
  }

  private chooseKind({ kind, startUrl }: Record<string, unknown>): Kind {
    if (kind === 'screen' || kind === 'browser') return kind;
    return this.hasDisplay() && !toStringOrEmpty(startUrl) ? 'screen' : 'browser';
  }

  private hasDisplay(): boolean {
    return Boolean(this.options.base['DISPLAY']) && this.canRecordVideo();
  }

  private canRecordVideo(): boolean {
    return findProgram('ffmpeg', this.options.base) !== null;
  }

  private async recordScreen(folder: string): Promise<Result | { active: ActiveRecording; more: object }> {
    if (!this.hasDisplay()) return noScreen;
    const film = Film.recordScreen(join(folder, 'film.mkv'), this.options.base);
    await film.waitUntilStarted();
    const stopAndCollect = async (): Promise<RecordedFiles> => ({
      video: await film.endFilm(),
      events: null,
      more: {},
    });
    return { active: { kind: 'screen', folder, stop: stopAndCollect, kill: () => film.kill() }, more: {} };
  }

  private async recordBrowser(
    folder: string,
    payload: Record<string, unknown>,
  ): Promise<Result | { active: ActiveRecording; more: object }> {
    const { base, extensions } = this.options;
    const program = findBrowser(base);
    if (!program) return noBrowser;
    const headless = !base['DISPLAY'];
    const isFilmed = this.canRecordVideo();
    const recording = await BrowserRecording.start({
      browser: { program, folder: join(folder, 'browser'), env: base, headless, extensions: extensions.listPaths() },
      files: { film: isFilmed ? join(folder, 'film.mkv') : null, events: join(folder, 'events.json') },
      title: toStringOrEmpty(payload.name) || 'Recording',
      startUrl: toStringOrEmpty(payload.startUrl) || null,
    });
    const unfilmed = isFilmed ? {} : { note: 'there is no ffmpeg on this machine, so there is no video' };
    const stopAndCollect = async (): Promise<RecordedFiles> => {
      const { video, events, steps, leftOut } = await recording.stop();
      return { video, events, more: { steps, ...(leftOut ? { stepsLeftOut: leftOut } : {}), ...unfilmed } };
    };
    const active: ActiveRecording = { kind: 'browser', folder, stop: stopAndCollect, kill: () => recording.kill() };
    return { active, more: { headless, debuggingUrl: recording.debuggingUrl, ...unfilmed } };
  }

  private async stopRecording(recordingId: string, { kind, folder, stop }: ActiveRecording): Promise<Result> {
    this.recordings.delete(recordingId);
    const signal = AbortSignal.timeout(15 * 60_000);
    const { agentId, service } = this.options;
    try {
      const { video, events, more } = await stop();
      const keys: Record<string, string> = {};
      for (const [name, path, filename] of [
        ['events', events, `${recordingId}.json`],
        ['video', video, `${recordingId}.mkv`],
      ] as const) {
        if (!path) continue;
        const { verdict, key, reason } = await uploadFile(service, { path, filename, agentId }, signal);
        if (verdict !== 'delivered') throw new Error(reason);
        keys[name] = key!;
      }
      // An older service reads only one file, from the field `key`.
      const key = keys['video'] ?? keys['events'];
      if (!key) return { status: 'failed', error: 'the recording produced no file' };
      return { status: 'success', output: { recordingId, kind, key, ...keys, ...more } };
    } catch (error) {
      return { status: 'failed', error: `the recording could not be uploaded: ${getErrorMessage(error)}` };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
