import { buildContentHeaders } from './build-content-headers';

describe('the headers of an uploaded file', () => {
  it.each([
    ['scan.PNG', undefined, 'image/png'],
    ['scan.jpg', undefined, 'image/jpeg'],
    ['scan.jpeg', undefined, 'image/jpeg'],
    ['scan.webp', undefined, 'image/webp'],
    ['scan.gif', undefined, 'image/gif'],
    ['scan.txt', 'Image/PNG; charset=x', 'image/png'],
  ])('%s of the type %s is shown as %s', (filename, contentType, type) => {
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
  ])('%s of the type %s is saved, without a type', (filename, contentType) => {
    expect(buildContentHeaders(filename, contentType)).toEqual({
      ResponseContentDisposition: `attachment; filename="${filename}"`,
    });
  });

  it('a name keeps no path and no reversed letters, and other letters are in the exact name', () => {
    const { ResponseContentDisposition: header } = buildContentHeaders('../a\\b\u202egpj.exe"ä\'.txt', 'text/plain');
    expect(header).toBe(
      `attachment; filename=".._a_b_gpj.exe__'.txt"; filename*=UTF-8''.._a_b_gpj.exe%22%C3%A4%27.txt`,
    );
  });
});
