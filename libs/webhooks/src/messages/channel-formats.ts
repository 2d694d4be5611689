import { type Message, shorten } from './write-message';

/** Formats a message as e-mail, in plain text and in HTML with the same content. */
export function asMail({ parts, more }: Message, channel: string): { text: string; html: string } {
  const foot = `Sent by Muster, notification channel ${shorten(channel)}.`;
  const text = [
    ...parts.map(({ title, detail, link }) =>
      [title, detail, link && `${link.text}: ${link.url}`].filter(Boolean).join('\n'),
    ),
    ...remainder(more),
    foot,
  ].join('\n\n');
  const html = [
    ...parts.map(({ title, detail, link }) =>
      [
        `<p><strong>${escapeHtml(title)}</strong>`,
        ...(detail ? [`<br>${escapeHtml(detail)}`] : []),
        ...(link ? [`<br><a href="${escapeHtml(link.url)}">${escapeHtml(link.text)}</a>`] : []),
        '</p>',
      ].join(''),
    ),
    ...remainder(more).map((line) => `<p>${escapeHtml(line)}</p>`),
    `<p><small>${escapeHtml(foot)}</small></p>`,
  ].join('\n');
  return { text, html };
}

/** Formats a message for a Slack incoming webhook, in Slack's markup. */
export function asSlack({ subject, parts, more }: Message): object {
  // With `verbatim`, Slack makes no links of addresses and channel names in the texts.
  const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } });
  return {
    text: escapeSlack(subject),
    blocks: [
      ...parts.map(({ title, detail, link }) =>
        section(
          [
            `*${escapeSlack(title)}*`,
            ...(detail ? [escapeSlack(detail)] : []),
            ...(link ? [`<${escapeSlack(link.url)}|${escapeSlack(link.text)}>`] : []),
          ].join('\n'),
        ),
      ),
      ...remainder(more).map(section),
    ],
  };
}

/**
 * Escapes the characters that Slack has an escape for. It has none for those of its markup, so these become characters
 * that look like them, except within a word, where Slack reads them as text.
 */
function escapeSlack(text: string): string {
  const similar: Record<string, string> = { '*': '∗', _: 'ˍ', '~': '∼', '`': 'ˋ' };
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/(?<![\p{L}\p{N}])[*_~`]|[*_~`](?![\p{L}\p{N}])/gu, (mark) => similar[mark]!);
}

/** Formats a message for a Teams incoming webhook: an adaptive card, whose text is Markdown. */
export function asTeams({ parts, more }: Message): object {
  const escaped = (text: string) => text.replaceAll(/[\\`*_{}[\]()#+!|<>~-]/g, String.raw`\$&`);
  const block = (text: string, strong = false) => ({
    ...{ type: 'TextBlock', text, wrap: true },
    ...(strong ? { weight: 'Bolder' } : {}),
  });
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            ...parts.flatMap(({ title, detail, link }) => [
              block(escaped(title), true),
              ...(detail ? [block(escaped(detail))] : []),
              ...(link ? [block(`[${escaped(link.text)}](${link.url})`)] : []),
            ]),
            ...remainder(more).map((line) => block(line)),
          ],
        },
      },
    ],
  };
}

function remainder(more: number): string[] {
  return more > 0 ? [`And ${more} more.`] : [];
}

function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replaceAll(/[&<>"']/g, (character) => entities[character]!);
}
