import { useEffect, useState } from 'react';
import type { ScreenFrame } from '../api/generated';

interface ScreenImage {
  /** Address of the image within this tab: the security policy of the pages does not allow `data:` images. */
  url: string;
  /** Size of the page in CSS pixels. */
  width: number;
  height: number;
}

/**
 * Returns the newest image of the browser of a run; null before the first one, after the end, and if the run shows no
 * browser. The browser reconnects a lost stream automatically.
 */
export function useScreen(jobId: string): ScreenImage | null {
  const [image, setImage] = useState<ScreenImage | null>(null);
  useEffect(() => {
    let shownUrl: string | null = null;
    const showFrame = (frame: ScreenFrame | null) => {
      const next = frame && {
        url: URL.createObjectURL(decodeJpeg(frame.data)),
        width: frame.width,
        height: frame.height,
      };
      setImage(next);
      if (shownUrl) URL.revokeObjectURL(shownUrl);
      shownUrl = next?.url ?? null;
    };
    const source = new EventSource(`/api/jobs/${jobId}/screen`);
    source.addEventListener('frame', ({ data }: MessageEvent<string>) => showFrame(JSON.parse(data) as ScreenFrame));
    source.addEventListener('end', () => {
      source.close();
      showFrame(null);
    });
    // An error response closes the stream for good: the run has ended, or the user may no longer watch it.
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) showFrame(null);
    };
    return () => {
      source.close();
      showFrame(null);
    };
  }, [jobId]);
  return image;
}

function decodeJpeg(data: string): Blob {
  return new Blob([Uint8Array.from(atob(data), (character) => character.charCodeAt(0))], { type: 'image/jpeg' });
}
