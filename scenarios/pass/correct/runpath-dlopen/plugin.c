/* The library that is found by RUNPATH. */
int plugin_version(void)
{
    return 7;
}
