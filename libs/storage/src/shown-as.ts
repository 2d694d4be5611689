const pictures: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
};
const rasterTypes = new Set(Object.values(pictures));

/**
 * How a browser is to take a file that somebody sent us: a raster picture is shown as just that, whatever its bytes are,
 * and anything else is saved. A page or an SVG that was shown would run as one of ours.
 */
export function shownAs(
  filename: string,
  contentType = pictures[filename.split('.').at(-1)!.toLowerCase()] ?? '',
): { ResponseContentType?: string; ResponseContentDisposition: string } {
  const type = contentType.split(';')[0]!.trim().toLowerCase();
  const raster = rasterTypes.has(type);
  return {
    ...(raster ? { ResponseContentType: type } : {}),
    ResponseContentDisposition: `${raster ? 'inline' : 'attachment'}; ${namedAs(filename)}`,
  };
}

/** What would lead out of the folder that a file is saved in, or turns its letters so that a program looks like a picture. */
const misleading = /[/\\\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** RFC 6266: a name that every client reads, and the name as it is where it has more. */
function namedAs(given: string): string {
  const filename = given.replaceAll(misleading, '_');
  const plain = filename.replaceAll(/[^\x20-\x7e]|["%]/g, '_');
  const exact = encodeURIComponent(filename).replaceAll(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  return `filename="${plain}"${plain === filename ? '' : `; filename*=UTF-8''${exact}`}`;
}
