import { parseTunnelUrl } from './tunnel-url';

describe('the URL of a tunnel', () => {
  it.each([
    ['a1.example.com', 'https://a1.example.com'],
    ['a1.example.com:8443', 'https://a1.example.com:8443'],
    ['http://127.0.0.1:9000/', 'http://127.0.0.1:9000'],
    ['https://t.example.com/a1/', 'https://t.example.com/a1'],
    ['', null],
    [null, null],
  ])('the tunnel URL of the reported value %p is %p', (reported, url) => expect(parseTunnelUrl(reported)).toBe(url));

  it.each(['a b', 'ftp://a', 'https://u:p@a', 'https://a/?q', '//a', 'javascript:x'])(
    'the tunnel %p that a worker reports is rejected',
    (reported) => {
      expect(() => parseTunnelUrl(reported)).toThrow();
    },
  );
});
