/** Maximum size of an image that the service accepts, in bytes. */
export const mostBytes = 5 * 1024 * 1024;

/** Whether this page can take screenshots. Browsers allow it only over https and on localhost. */
export function canTakeScreenshots(): boolean {
  return typeof (navigator as Partial<Navigator>).mediaDevices?.getDisplayMedia === 'function';
}

/** Takes a screenshot of the tab or window that the user chooses; null if the user declines. */
export async function takeScreenshot(): Promise<File | null> {
  const wish = { video: { displaySurface: 'browser' }, audio: false, preferCurrentTab: true };
  let stream: MediaStream;
  try {
    stream = await navigator.mediaDevices.getDisplayMedia(wish);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'NotAllowedError') return null;
    throw error;
  }
  try {
    const video = document.createElement('video');
    video.muted = true;
    video.srcObject = stream;
    await video.play();
    const canvas = document.createElement('canvas');
    canvas.width = video.videoWidth;
    canvas.height = video.videoHeight;
    canvas.getContext('2d')!.drawImage(video, 0, 0);
    const whole = await encodeImage(canvas, 'image/png');
    // A page with photographs or a very large window can be too large as a PNG.
    return whole.size <= mostBytes ? whole : await encodeImage(canvas, 'image/jpeg');
  } finally {
    for (const track of stream.getTracks()) track.stop();
  }
}

function encodeImage(canvas: HTMLCanvasElement, type: 'image/png' | 'image/jpeg'): Promise<File> {
  return new Promise((resolve, reject) => {
    const resolveWithFile = (blob: Blob | null) =>
      blob ? resolve(new File([blob], `screenshot.${type.slice(6)}`, { type })) : reject(new Error('no picture'));
    canvas.toBlob(resolveWithFile, type, 0.85);
  });
}
