/* SHOW, DESCRIBE, USE, DROP, SET, RESET: statements that are little more than words. */
#include <string.h>

#include "sql/parser_core.h"

/* What comes after SHOW: words, and whether a name follows. */
enum show_name { SHOW_NO_NAME, SHOW_FROM, SHOW_OBJECT };
static const struct {
    const char *words[3], *what;
    enum show_name name;
    bool like;
} shows[] = {
    {{"CATALOGS"}, "CATALOGS", SHOW_NO_NAME, true},
    {{"COLUMNS"}, "COLUMNS", SHOW_FROM, true},
    {{"CONNECTIONS"}, "CONNECTIONS", SHOW_FROM, true},
    {{"CREATE", "CATALOG"}, "CREATE CATALOG", SHOW_OBJECT, false},
    {{"CREATE", "CONNECTION"}, "CREATE CONNECTION", SHOW_OBJECT, false},
    {{"CREATE", "FUNCTION"}, "CREATE FUNCTION", SHOW_OBJECT, false},
    {{"CREATE", "MATERIALIZED", "TABLE"}, "CREATE MATERIALIZED TABLE", SHOW_OBJECT, false},
    {{"CREATE", "MODEL"}, "CREATE MODEL", SHOW_OBJECT, false},
    {{"CREATE", "TABLE"}, "CREATE TABLE", SHOW_OBJECT, false},
    {{"CREATE", "VIEW"}, "CREATE VIEW", SHOW_OBJECT, false},
    {{"CURRENT", "CATALOG"}, "CURRENT CATALOG", SHOW_NO_NAME, false},
    {{"CURRENT", "DATABASE"}, "CURRENT DATABASE", SHOW_NO_NAME, false},
    {{"DATABASES"}, "DATABASES", SHOW_FROM, true},
    {{"FUNCTIONS"}, "FUNCTIONS", SHOW_FROM, true},
    {{"JARS"}, "JARS", SHOW_NO_NAME, false},
    {{"JOBS"}, "JOBS", SHOW_NO_NAME, false},
    {{"MATERIALIZED", "TABLES"}, "MATERIALIZED TABLES", SHOW_FROM, true},
    {{"MODELS"}, "MODELS", SHOW_FROM, true},
    {{"MODULES"}, "MODULES", SHOW_NO_NAME, false},
    {{"PARTITIONS"}, "PARTITIONS", SHOW_OBJECT, false},
    {{"PROCEDURES"}, "PROCEDURES", SHOW_FROM, true},
    {{"TABLES"}, "TABLES", SHOW_FROM, true},
    {{"VIEWS"}, "VIEWS", SHOW_FROM, true},
};

static bool accept_words(struct parser *parser, const char *const words[3])
{
    uint32_t count = 0;
    while (count < 3 && words[count] != NULL && parser_sees(parser, count, words[count])) {
        count++;
    }
    if (count < 3 && words[count] != NULL) {
        if (count == 0) {
            parser_at(parser, words[0]);
        }
        return false;
    }
    parser_skip(parser, count);
    return true;
}

static enum status show_like(struct parser *parser, struct ast_show *show)
{
    show->negated = parser_accept(parser, "NOT");
    show->ignore_case = parser_accept(parser, "ILIKE");
    if (show->ignore_case || parser_accept(parser, "LIKE")) {
        return parser_string(parser, &show->like, "a pattern in quotes");
    }
    return show->negated ? parser_unexpected(parser, NULL) : STATUS_OK;
}

static enum status show_rest(struct parser *parser, size_t entry, struct ast_show *show)
{
    if (shows[entry].name == SHOW_OBJECT) {
        TRY(parser_name(parser, &show->name, "a name"));
        if (strcmp(show->what, "PARTITIONS") == 0 && parser_at(parser, "PARTITION")) {
            TRY(parser_partition(parser, &show->partition, &show->partition_count));
        }
    } else if (shows[entry].name == SHOW_FROM) {
        if (parser_accept(parser, "FROM") || parser_accept(parser, "IN")) {
            TRY(parser_name(parser, &show->name, "a name"));
        } else if (strcmp(show->what, "COLUMNS") == 0) {
            return parser_unexpected(parser, NULL);
        }
    }
    return shows[entry].like ? show_like(parser, show) : STATUS_OK;
}

enum status parser_show(struct parser *parser, struct ast_statement *statement)
{
    struct ast_show *show = &statement->show;
    parser_skip(parser, 1);
    statement->kind = AST_STATEMENT_SHOW;
    show->full = parser_sees(parser, 0, "FULL") && parser_accept(parser, "FULL");
    show->user = parser_sees(parser, 0, "USER") && parser_accept(parser, "USER");
    show->extended = parser_sees(parser, 0, "EXTENDED") && parser_accept(parser, "EXTENDED");
    for (size_t i = 0; i < ARRAY_LENGTH(shows); i++) {
        if (accept_words(parser, shows[i].words)) {
            show->what = shows[i].what;
            return show_rest(parser, i, show);
        }
    }
    return parser_unexpected(parser, NULL);
}

/* ---- DESCRIBE ---- */

static enum status describe(struct parser *parser, struct ast_statement *statement)
{
    static const char *const kinds[] = {"CATALOG", "CONNECTION", "DATABASE", "FUNCTION", "JOB", "MODEL"};
    parser_skip(parser, 1);
    statement->kind = AST_STATEMENT_DESCRIBE;
    statement->describe.what = "TABLE";
    bool named = parser_peek(parser, 1)->kind != TOKEN_END && !parser_sees(parser, 1, ";") && !parser_sees(parser, 1, ".");
    for (size_t i = 0; named && i < ARRAY_LENGTH(kinds); i++) {
        if (parser_accept(parser, kinds[i])) {
            statement->describe.what = kinds[i];
            break;
        }
    }
    statement->describe.extended = parser_accept(parser, "EXTENDED");
    if (strcmp(statement->describe.what, "JOB") == 0) {
        const char **part;
        TRY(parser_allocate(parser, sizeof *part, &part));
        TRY(parser_string(parser, part, "a job's id in quotes"));
        statement->describe.name = (struct ast_name){.at = statement->at, .count = 1, .parts = part, .part_positions = &statement->at};
        return STATUS_OK;
    }
    return parser_name(parser, &statement->describe.name, "a name");
}

/* ---- USE, DROP, SET, RESET ---- */

static enum status use(struct parser *parser, struct ast_statement *statement)
{
    parser_skip(parser, 1);
    if (parser_accept(parser, "MODULES")) {
        const char *const *names;
        statement->kind = AST_STATEMENT_USE;
        statement->use.what = "MODULES";
        struct list list = {0};
        do {
            const char *name;
            TRY(parser_identifier(parser, &name, "a module's name"));
            TRY(parser_add(parser, &list, &name, sizeof name));
        } while (parser_accept(parser, ","));
        names = list.items;
        statement->use.name = (struct ast_name){.at = statement->at, .count = list.count, .parts = names};
        return STATUS_OK;
    }
    statement->kind = AST_STATEMENT_USE;
    bool catalog = parser_sees(parser, 0, "CATALOG") && parser_peek(parser, 1)->kind != TOKEN_END && !parser_sees(parser, 1, ";") &&
                   !parser_sees(parser, 1, ".");
    statement->use.what = catalog ? "CATALOG" : "DATABASE";
    if (catalog) {
        parser_skip(parser, 1);
    }
    return parser_name(parser, &statement->use.name, "a name");
}

static enum status drop(struct parser *parser, struct ast_statement *statement)
{
    static const char *const kinds[] = {"CATALOG", "CONNECTION", "DATABASE", "FUNCTION", "MODEL", "TABLE", "VIEW"};
    struct ast_drop *drop = &statement->drop;
    parser_skip(parser, 1);
    statement->kind = AST_STATEMENT_DROP;
    drop->temporary = parser_accept(parser, "TEMPORARY");
    drop->system = drop->temporary && parser_accept(parser, "SYSTEM");
    if (parser_accept_pair(parser, "MATERIALIZED", "TABLE")) {
        drop->what = "MATERIALIZED TABLE";
    }
    for (size_t i = 0; drop->what == NULL && i < ARRAY_LENGTH(kinds); i++) {
        drop->what = parser_accept(parser, kinds[i]) ? kinds[i] : NULL;
    }
    if (drop->what == NULL) {
        return parser_unexpected(parser, NULL);
    }
    drop->if_exists = parser_accept(parser, "IF");
    if (drop->if_exists) {
        TRY(parser_expect(parser, "EXISTS"));
    }
    TRY(parser_name(parser, &drop->name, "a name"));
    drop->cascade = parser_accept(parser, "CASCADE");
    if (!drop->cascade) {
        parser_accept(parser, "RESTRICT");
    }
    return STATUS_OK;
}

static enum status set(struct parser *parser, struct ast_statement *statement)
{
    parser_skip(parser, 1);
    statement->kind = AST_STATEMENT_SET;
    if (parser_at_text(parser)) {
        TRY(parser_string(parser, &statement->setting.key, "a setting's name in quotes"));
        TRY(parser_expect(parser, "="));
        return parser_string(parser, &statement->setting.value, "the setting's value in quotes");
    }
    if (parser_peek(parser, 0)->kind == TOKEN_END || parser_at(parser, ";")) {
        return STATUS_OK;
    }
    return parser_unexpected(parser, "a setting in quotes, as in SET 'key' = 'value'");
}

static enum status reset(struct parser *parser, struct ast_statement *statement)
{
    parser_skip(parser, 1);
    statement->kind = AST_STATEMENT_RESET;
    if (parser_peek(parser, 0)->kind == TOKEN_END || parser_at(parser, ";")) {
        return STATUS_OK;
    }
    return parser_string(parser, &statement->setting.key, "a setting in quotes, as in RESET 'key'");
}

enum status parser_small_statement(struct parser *parser, struct ast_statement *statement, bool *found)
{
    static const struct {
        const char *word;
        enum status (*parse)(struct parser *parser, struct ast_statement *statement);
    } words[] = {{"SHOW", parser_show}, {"DESCRIBE", describe}, {"DESC", describe}, {"USE", use},
                 {"DROP", drop},        {"SET", set},           {"RESET", reset}};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (parser_at(parser, words[i].word)) {
            *found = true;
            return words[i].parse(parser, statement);
        }
    }
    *found = false;
    return STATUS_OK;
}
