import type { Message } from './write-message';

/** Formats a message as e-mail, in plain text and in HTML with the same content. */
export function asMail({ parts, more }: Message, channel: string): { text: string; html: string } {
  const foot = `Sent by Muster, notification channel ${channel}.`;
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

/** Formats a message for a Slack incoming webhook: mrkdwn, in which &, < and > must be escaped. */
export function asSlack({ subject, parts, more }: Message): object {
  const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const section = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text } });
  return {
    text: escaped(subject),
    blocks: [
      ...parts.map(({ title, detail, link }) =>
        section(
          [
            `*${escaped(title)}*`,
            ...(detail ? [escaped(detail)] : []),
            ...(link ? [`<${escaped(link.url)}|${escaped(link.text)}>`] : []),
          ].join('\n'),
        ),
      ),
      ...remainder(more).map(section),
    ],
  };
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
