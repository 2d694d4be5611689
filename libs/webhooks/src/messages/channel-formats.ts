import { type Message, shortenText } from './write-message';

/** Formats a message as e-mail, in plain text and in HTML with the same content. */
export function formatMessageAsMail({ parts, more }: Message, channel: string): { text: string; html: string } {
  const foot = `Sent by Muster, notification channel ${shortenText(channel)}.`;
  const text = [
    ...parts.map(({ title, detail, link }) =>
      [title, detail, link && `${link.text}: ${link.url}`].filter(Boolean).join('\n'),
    ),
    ...formatNumberOfMoreEvents(more),
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
    ...formatNumberOfMoreEvents(more).map((line) => `<p>${escapeHtml(line)}</p>`),
    `<p><small>${escapeHtml(foot)}</small></p>`,
  ].join('\n');
  return { text, html };
}

/** Formats a message for a Slack incoming webhook, in Slack's markup. */
export function formatMessageAsSlack({ subject, parts, more }: Message): object {
  // With `verbatim`, Slack does not turn addresses and channel names in the texts into links.
  const slackSection = (text: string) => ({ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } });
  return {
    text: escapeSlackMarkup(subject),
    blocks: [
      ...parts.map(({ title, detail, link }) =>
        slackSection(
          [
            `*${escapeSlackMarkup(title)}*`,
            ...(detail ? [escapeSlackMarkup(detail)] : []),
            ...(link ? [`<${escapeSlackMarkup(link.url)}|${escapeSlackMarkup(link.text)}>`] : []),
          ].join('\n'),
        ),
      ),
      ...formatNumberOfMoreEvents(more).map(slackSection),
    ],
  };
}

/**
 * Escapes the characters for which Slack has an escape. Slack has none for the characters of its markup, so they are
 * replaced with characters that look like them. Within a word they are kept, because Slack reads them as text there.
 */
function escapeSlackMarkup(text: string): string {
  const similar: Record<string, string> = { '*': '∗', _: 'ˍ', '~': '∼', '`': 'ˋ' };
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/(?<![\p{L}\p{N}])[*_~`]|[*_~`](?![\p{L}\p{N}])/gu, (mark) => similar[mark]!);
}

/** Formats a message for a Teams incoming webhook: an adaptive card, whose text is Markdown. */
export function formatMessageAsTeams({ parts, more }: Message): object {
  const escapeTeams = (text: string) => text.replaceAll(/[\\`*_{}[\]()#+!|<>~-]/g, String.raw`\$&`);
  const teamsTextBlock = (text: string, strong = false) => ({
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
              teamsTextBlock(escapeTeams(title), true),
              ...(detail ? [teamsTextBlock(escapeTeams(detail))] : []),
              ...(link ? [teamsTextBlock(`[${escapeTeams(link.text)}](${link.url})`)] : []),
            ]),
            ...formatNumberOfMoreEvents(more).map((line) => teamsTextBlock(line)),
          ],
        },
      },
    ],
  };
}

function formatNumberOfMoreEvents(more: number): string[] {
  return more > 0 ? [`And ${more} more.`] : [];
}

function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replaceAll(/[&<>"']/g, (character) => entities[character]!);
}
