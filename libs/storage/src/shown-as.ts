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

/** RFC 6266: a name that every client reads, and the name as it is where it has more. */
function namedAs(filename: string): string {
  const plain = filename.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_');
  const exact = encodeURIComponent(filename).replaceAll(/['()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  return `filename="${plain}"${plain === filename ? '' : `; filename*=UTF-8''${exact}`}`;
}
