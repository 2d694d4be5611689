import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const closeMs = 10_000;
const framesPerSecond = 5;
const size = { width: 1280, height: 800 };
const largestBacklogBytes = 8 * 1024 * 1024;

/** A video that ffmpeg records, of a screen or of single images. */
export class Film {
  private readonly child: ChildProcess;
  private picture: Buffer | null = null;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly file: string,
    input: string[],
    env: Record<string, string>,
    private readonly isFed: boolean,
  ) {
    const args = ['-y', '-loglevel', 'error', ...input, file];
    this.child = spawn('ffmpeg', args, { env, stdio: [isFed ? 'pipe' : 'ignore', 'ignore', 'ignore'] });
    this.child.once('error', () => undefined);
    this.child.stdin?.on('error', () => undefined);
    // A page without changes sends no images, so the last image is repeated.
    if (isFed) this.timer = setInterval(() => this.writePicture(), 1000 / framesPerSecond);
  }

  static recordScreen(file: string, env: Record<string, string>): Film {
    return new Film(file, ['-f', 'x11grab', '-framerate', '10', '-i', env['DISPLAY']!], env, false);
  }

  /** Records the images that are passed to showPicture(), of any size. */
  static recordImages(file: string, env: Record<string, string>): Film {
    const { width, height } = size;
    const fit = `scale=${width}:${height}:force_original_aspect_ratio=decrease,pad=${width}:${height}:(ow-iw)/2:(oh-ih)/2`;
    const input = ['-f', 'image2pipe', '-c:v', 'mjpeg', '-framerate', String(framesPerSecond), '-i', '-'];
    return new Film(file, [...input, '-vf', `${fit},format=yuv420p`], env, true);
  }

  static readonly size = size;

  async waitUntilStarted(): Promise<void> {
    await once(this.child, 'spawn');
  }

  showPicture(picture: Buffer): void {
    this.picture = picture;
  }

  /** Ends the video. Returns its file, or null if the file is missing or empty. */
  async endFilm(): Promise<string | null> {
    clearInterval(this.timer);
    const { child } = this;
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
      const ended = once(child, 'exit');
      // ffmpeg closes its file at the end of its input, or when it is interrupted.
      if (this.isFed) {
        this.writePicture();
        child.stdin!.end();
      } else child.kill('SIGINT');
      await Promise.race([ended, sleep(closeMs, undefined, { ref: false })]);
      child.kill('SIGKILL');
    }
    return (statSync(this.file, { throwIfNoEntry: false })?.size ?? 0) > 0 ? this.file : null;
  }

  kill(): void {
    clearInterval(this.timer);
    this.child.kill('SIGKILL');
  }

  private writePicture(): void {
    const { stdin } = this.child;
    if (this.picture && stdin?.writable && stdin.writableLength < largestBacklogBytes) stdin.write(this.picture);
  }
}
