import { AppError, invalidFieldError } from '@muster/contracts';
import { Semaphore } from '@muster/platform';

export const maxScreenshotBytes = 5 * 1024 * 1024;

type ImageFormat = 'png' | 'jpeg' | 'webp';

export interface Screenshot {
  bytes: Buffer;
  kind: ImageFormat;
}

/** Maximum number of pixels; more than a screen of 8,000 by 4,000 pixels has. */
const maxPixels = 40_000_000;
const maxSeconds = 10;

/** Limits concurrent re-encodings: each needs one core and up to 160 MB. */
const encoders = new Semaphore(2);

/** Detects the format by the first bytes, because the content type in the form cannot be trusted. */
function detectImageFormat(bytes: Buffer): ImageFormat | null {
  if (bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex'))) return 'png';
  if (bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex'))) return 'jpeg';
  const isWebp = bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';
  return isWebp ? 'webp' : null;
}

/**
 * Re-encodes a screenshot upright, so that only its pixels are kept: no location in the EXIF data and no appended HTML
 * or program. The native library is large, so it is loaded with the first image.
 */
export async function reencodeScreenshot(upload: Buffer): Promise<Screenshot> {
  const kind = detectImageFormat(upload);
  if (!kind) {
    throw new AppError('unsupported_media_type', {
      detail: 'The screenshot is not a PNG, JPEG or WebP image. Send it in one of these formats.',
    });
  }
  const { default: sharp } = await import('sharp');
  return encoders.runInTurn(async () => {
    try {
      const image = sharp(upload, { limitInputPixels: maxPixels, failOn: 'error', sequentialRead: true });
      const { format, width, height } = await image.metadata();
      if (format !== kind) throw new Error('its format differs from its first bytes');
      if (width * height > maxPixels) throw new Error(`it has more than ${maxPixels} pixels`);
      const bytes = await image.autoOrient().toFormat(kind).timeout({ seconds: maxSeconds }).toBuffer();
      return { bytes, kind };
    } catch (error) {
      throw invalidFieldError('screenshot', `screenshot cannot be decoded: ${describeImageError(error)}`);
    }
  });
}

function describeImageError(error: unknown): string {
  const { message } = error as Error;
  return /pixel/i.test(message) ? `it has more than ${maxPixels} pixels` : 'it is not a valid image';
}
