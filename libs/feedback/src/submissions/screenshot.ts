import { AppError, invalidField } from '@muster/contracts';
import { Semaphore } from '@muster/platform';

export const maxScreenshotBytes = 5 * 1024 * 1024;

type Picture = 'png' | 'jpeg' | 'webp';

export interface Screenshot {
  bytes: Buffer;
  kind: Picture;
}

/** Eight thousand pixels wide and half as high is a large screen; what unpacks to more is no screenshot. */
const maxPixels = 40_000_000;
const maxSeconds = 10;

/** A picture takes a core and up to 160 MB for a moment. */
const turns = new Semaphore(2);

/** What a picture is, told by its first bytes: what the form says of it is anybody's word. */
function kindOf(bytes: Buffer): Picture | null {
  if (bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex'))) return 'png';
  if (bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex'))) return 'jpeg';
  const isWebp = bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';
  return isWebp ? 'webp' : null;
}

/**
 * The picture drawn anew, upright, so that nothing but its pixels is kept: no place where it was taken, no page or
 * program behind it. The library is large and native, so it is loaded with the first picture.
 */
export async function redrawScreenshot(given: Buffer): Promise<Screenshot> {
  const kind = kindOf(given);
  if (!kind) {
    throw new AppError('unsupported_media_type', { detail: 'The screenshot must be a PNG, JPEG or WebP picture.' });
  }
  const { default: sharp } = await import('sharp');
  return turns.run(async () => {
    try {
      const picture = sharp(given, { limitInputPixels: maxPixels, failOn: 'error', sequentialRead: true });
      const { format, width, height } = await picture.metadata();
      if (format !== kind) throw new Error('it is not what its first bytes say');
      if (width * height > maxPixels) throw new Error(`it has more than ${maxPixels} pixels`);
      const bytes = await picture.autoOrient().toFormat(kind).timeout({ seconds: maxSeconds }).toBuffer();
      return { bytes, kind };
    } catch (error) {
      throw invalidField('screenshot', `screenshot cannot be read as a picture: ${reasonOf(error)}`);
    }
  });
}

function reasonOf(error: unknown): string {
  const { message } = error as Error;
  return /pixel/i.test(message) ? `it has more than ${maxPixels} pixels` : 'it is broken, or no picture';
}
