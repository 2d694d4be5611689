const imageTypes: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
};
const rasterTypes = new Set(Object.values(imageTypes));

/**
 * Returns the response headers for an uploaded file. A raster image is shown with an image type, whatever its bytes
 * are, and anything else is saved. A page or an SVG must not be shown, because its scripts could run in the service's
 * origin.
 */
export function buildContentHeaders(
  filename: string,
  contentType = imageTypes[filename.split('.').at(-1)!.toLowerCase()] ?? '',
): { ResponseContentType?: string; ResponseContentDisposition: string } {
  const type = contentType.split(';')[0]!.trim().toLowerCase();
  const raster = rasterTypes.has(type);
  return {
    ...(raster ? { ResponseContentType: type } : {}),
    ResponseContentDisposition: `${raster ? 'inline' : 'attachment'}; ${formatFileNameParameter(filename)}`,
  };
}

/**
 * Matches characters of a file name that could lead out of the download folder, or reverse the name so that a program
 * looks like an image.
 */
const misleading = /[/\\\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Returns the file name in the format of RFC 6266: an ASCII name that every client reads, and the exact name if it has
 * other characters.
 */
function formatFileNameParameter(name: string): string {
  const filename = name.replaceAll(misleading, '_');
  const plain = filename.replaceAll(/[^\x20-\x7e]|["%]/g, '_');
  const exact = encodeURIComponent(filename).replaceAll(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  return `filename="${plain}"${plain === filename ? '' : `; filename*=UTF-8''${exact}`}`;
}
