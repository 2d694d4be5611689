import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from './browser/find-browser';
import { textOf, type Command, type Result } from './command';
import { messageOf, type Service } from './service';
import { sendUpload } from './upload';

export interface RecorderOptions {
  folder: string;
  agentId: string;
  /** Where programs are, and which screen there is. */
  base: Record<string, string>;
  service: Service;
}

const unavailable: Result = { status: 'failed', error: 'recording is not available on this machine' };
const closeMs = 10_000;

/** Records the screen with ffmpeg, where there are both. */
export class Recorder {
  private readonly recordings = new Map<string, { child: ChildProcess; file: string }>();
  /** What was to be stopped: a start that its stop has overtaken begins nothing. */
  private readonly stopped = new Set<string>();

  constructor(private readonly options: RecorderOptions) {}

  async perform({ kind, payload }: Command): Promise<Result> {
    const asked = textOf(payload.recordingId);
    const recordingId = /^[A-Za-z0-9][\w-]{0,99}$/.test(asked) ? asked : randomUUID();
    if (!this.isAvailable()) return unavailable;
    if (kind === 'start_recording') return this.start(recordingId);
    if (kind === 'stop_recording') this.stopped.add(recordingId);
    if (!this.recordings.has(recordingId)) return { status: 'failed', error: 'there is no such recording here' };
    if (kind === 'attach_recording') return { status: 'success', output: { recordingId, recording: true } };
    return this.stop(recordingId);
  }

  /** Its files are of no use without the worker that would send them. */
  close(): void {
    for (const { child } of this.recordings.values()) child.kill('SIGKILL');
  }

  private isAvailable(): boolean {
    const { base } = this.options;
    return Boolean(base['DISPLAY']) && findProgram('ffmpeg', base) !== null;
  }

  private async start(recordingId: string): Promise<Result> {
    if (this.recordings.has(recordingId)) return { status: 'success', output: { recordingId, recording: true } };
    if (this.stopped.has(recordingId)) return { status: 'failed', error: 'the recording was stopped before it began' };
    const { folder, base } = this.options;
    mkdirSync(join(folder, 'recordings'), { recursive: true, mode: 0o700 });
    const file = join(folder, 'recordings', `${recordingId}.mkv`);
    const input = ['-f', 'x11grab', '-framerate', '10', '-i', base.DISPLAY!];
    const child = spawn('ffmpeg', ['-y', '-loglevel', 'error', ...input, file], { env: base, stdio: 'ignore' });
    await once(child, 'spawn');
    this.recordings.set(recordingId, { child, file });
    return { status: 'success', output: { recordingId, recording: true } };
  }

  private async stop(recordingId: string): Promise<Result> {
    const { child, file } = this.recordings.get(recordingId)!;
    this.recordings.delete(recordingId);
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      // ffmpeg closes its file when it is interrupted.
      child.kill('SIGINT');
      await Promise.race([ended, sleep(closeMs, undefined, { ref: false })]);
      child.kill('SIGKILL');
    }
    const { agentId, service } = this.options;
    const upload = { path: file, filename: `${recordingId}.mkv`, agentId };
    try {
      const { verdict, key, why } = await sendUpload(service, upload, AbortSignal.timeout(15 * 60_000));
      if (verdict !== 'delivered') return { status: 'failed', error: `the recording could not be sent: ${why}` };
      rmSync(file, { force: true });
      return { status: 'success', output: { recordingId, key } };
    } catch (error) {
      return { status: 'failed', error: `the recording could not be sent: ${messageOf(error)}` };
    }
  }
}
