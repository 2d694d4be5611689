import { buildContentHeaders } from './build-content-headers';

describe('the headers of an uploaded file', () => {
  it.each([
    ['scan.PNG', undefined, 'image/png'],
    ['scan.jpg', undefined, 'image/jpeg'],
    ['scan.jpeg', undefined, 'image/jpeg'],
    ['scan.webp', undefined, 'image/webp'],
    ['scan.gif', undefined, 'image/gif'],
    ['scan.txt', 'Image/PNG; charset=x', 'image/png'],
  ])('browsers show the uploaded file %s of the type %s as %s', (filename, contentType, type) => {
    expect(buildContentHeaders(filename, contentType)).toEqual({
      ResponseContentType: type,
      ResponseContentDisposition: `inline; filename="${filename}"`,
    });
  });

  it.each([
    ['page.html', 'text/html'],
    ['drawing.svg', 'image/svg+xml'],
    ['scan.png', 'text/html'],
    ['scan', undefined],
    ['.svg', undefined],
  ])('browsers save the uploaded file %s of the type %s, and get no type', (filename, contentType) => {
    expect(buildContentHeaders(filename, contentType)).toEqual({
      ResponseContentDisposition: `attachment; filename="${filename}"`,
    });
  });

  it('the name of a downloaded file has no path and no mark that reverses letters, but keeps letters outside of ASCII', () => {
    const { ResponseContentDisposition: header } = buildContentHeaders('../a\\b\u202egpj.exe"ä\'.txt', 'text/plain');
    expect(header).toBe(
      `attachment; filename=".._a_b_gpj.exe__'.txt"; filename*=UTF-8''.._a_b_gpj.exe%22%C3%A4%27.txt`,
    );
  });
});
